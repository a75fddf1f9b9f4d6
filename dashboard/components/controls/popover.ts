// Where a popover stands: below what opened it, above it where there is no room, and always within the window. It ends where its opener
// does, or begins there if the opener is in the first half of the window: so it covers its neighbours least.

const GAP = 4
const EDGE = 8

export function placePopover(popover: HTMLElement | null, opener: HTMLElement | null): void {
  const at = opener?.getBoundingClientRect()
  if (!popover || !at) return
  const { width, height } = popover.getBoundingClientRect()
  const left = at.right < innerWidth / 2 ? at.left : at.right - width
  const isBelow = at.bottom + GAP + height <= innerHeight
  popover.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - width - EDGE)) + scrollX}px`
  popover.style.top = `${(isBelow ? at.bottom + GAP : Math.max(EDGE, at.top - height - GAP)) + scrollY}px`
}
