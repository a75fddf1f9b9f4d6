// The icons of the dashboard, by their names at lucide.dev. The build puts exactly these into one file, the sprite.

/** In alphabetical order. */
export const ICONS = [
  'archive',
  'ban',
  'book-open',
  'chart-line',
  'check',
  'chevron-down',
  'circle-alert',
  'circle-check',
  'clock',
  'copy',
  'download',
  'ellipsis',
  'gauge',
  'house',
  'info',
  'languages',
  'list-checks',
  'log-out',
  'mail',
  'mail-check',
  'menu',
  'pause',
  'pencil',
  'play',
  'plus',
  'radio',
  'rotate-ccw',
  'rotate-cw',
  'scroll-text',
  'search',
  'send',
  'settings',
  'shield-check',
  'table',
  'target',
  'ticket',
  'trash-2',
  'trending-down',
  'trending-up',
  'triangle-alert',
  'upload',
  'user-plus',
  'user-round',
  'users-round',
  'x',
  'zap',
] as const

export type IconName = (typeof ICONS)[number]

/** The address of the sprite. The build replaces it. */
declare const SPRITE_ADDRESS: string

/** What `<use href>` refers to. */
export function iconAddress(name: IconName): string {
  return `${SPRITE_ADDRESS}#${name}`
}
