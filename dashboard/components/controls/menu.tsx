// A menu of further actions, as a popover of the browser: it closes on Escape and on a click elsewhere.
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import type { IconName } from '../../icons.ts'
import { Icon } from '../content/icon.tsx'
import { placePopover } from './popover.ts'

interface MenuProps {
  readonly label: string
  readonly icon?: IconName
  /** Shown on the button; without it, only the icon is. */
  readonly children?: ComponentChildren
  readonly items: readonly MenuItem[]
  readonly buttonClass?: string
}

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly isDangerous?: boolean
  /** Where it leads; else `onClick`. */
  readonly href?: string
  readonly onClick?: () => void
}

export function Menu({ label, icon = 'ellipsis', children, items, buttonClass = 'button quiet' }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const place = ({ newState }: { readonly newState: string }) => {
    if (newState !== 'open') return
    placePopover(list.current, button.current)
    list.current?.querySelector<HTMLElement>('.menu-item')?.focus()
  }
  const close = () => list.current?.hidePopover()
  return (
    <>
      <button
        ref={button}
        type="button"
        class={children === undefined ? `${buttonClass} icon-only` : buttonClass}
        aria-label={children === undefined ? label : undefined}
        title={children === undefined ? label : undefined}
        popovertarget={id}
      >
        {children ?? <Icon name={icon} />}
      </button>
      <div class="menu" id={id} ref={list} popover="auto" aria-label={label} onToggle={place} onKeyDown={moveFocus}>
        {items.map((item) => (
          <Entry key={item.label} item={item} close={close} />
        ))}
      </div>
    </>
  )
}

function Entry({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const look = item.isDangerous ? 'menu-item danger' : 'menu-item'
  const face = (
    <>
      {item.icon && <Icon name={item.icon} />}
      {item.label}
    </>
  )
  if (item.href !== undefined) {
    return (
      <a class={look} href={item.href} onClick={close}>
        {face}
      </a>
    )
  }
  const onClick = () => {
    close()
    item.onClick?.()
  }
  return (
    <button type="button" class={look} onClick={onClick}>
      {face}
    </button>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

function moveFocus(event: KeyboardEvent): void {
  const step = STEPS[event.key]
  if (step === undefined) return
  event.preventDefault()
  const entries = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.menu-item')]
  const at = entries.indexOf(document.activeElement as HTMLElement)
  entries.at((at + step) % entries.length)?.focus()
}
