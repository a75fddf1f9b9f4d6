// Where a popover stands: below what opened it, above it where there is no room, and always within the window.

const GAP = 4
const EDGE = 8

export function placePopover(popover: HTMLElement | null, opener: HTMLElement | null): void {
  const at = opener?.getBoundingClientRect()
  if (!popover || !at) return
  const { width, height } = popover.getBoundingClientRect()
  const isBelow = at.bottom + GAP + height <= innerHeight
  popover.style.left = `${Math.max(EDGE, Math.min(at.right - width, innerWidth - width - EDGE)) + scrollX}px`
  popover.style.top = `${(isBelow ? at.bottom + GAP : Math.max(EDGE, at.top - height - GAP)) + scrollY}px`
}
