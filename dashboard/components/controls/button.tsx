// Buttons, and links that look like them. A button is a verb and its object.
import type { ComponentChildren } from 'preact'
import type { IconName } from '../../icons.ts'
import { Icon } from '../content/icon.tsx'

export type ButtonKind = 'plain' | 'main' | 'quiet' | 'danger' | 'danger main'

interface Look {
  readonly kind?: ButtonKind
  readonly icon?: IconName
  /** For a button that shows only its icon. */
  readonly label?: string
  readonly children?: ComponentChildren
}

interface ButtonProps extends Look {
  readonly type?: 'button' | 'submit'
  readonly onClick?: (event: MouseEvent) => void
  readonly isBusy?: boolean
  readonly isDisabled?: boolean
  /** The id of the popover that it opens. */
  readonly popoverTarget?: string
}

/** While busy it keeps its focus and does nothing. */
export function Button({
  type = 'button',
  onClick,
  isBusy = false,
  isDisabled = false,
  popoverTarget,
  ...look
}: ButtonProps) {
  const onPress = (event: MouseEvent) => {
    if (isBusy) event.preventDefault()
    else onClick?.(event)
  }
  return (
    <button
      type={type}
      class={classOf(look)}
      aria-label={look.label}
      aria-disabled={isBusy || undefined}
      disabled={isDisabled}
      onClick={onPress}
      {...(popoverTarget !== undefined && { popovertarget: popoverTarget })}
    >
      <Face {...look} />
    </button>
  )
}

interface LinkButtonProps extends Look {
  readonly href: string
  readonly download?: string
}

export function LinkButton({ href, download, ...look }: LinkButtonProps) {
  return (
    <a class={classOf(look)} href={href} download={download} aria-label={look.label}>
      <Face {...look} />
    </a>
  )
}

function classOf({ kind = 'plain', children }: Look): string {
  return `button ${kind === 'plain' ? '' : kind} ${children === undefined ? 'icon-only' : ''}`.trim()
}

function Face({ icon, children }: Look) {
  return (
    <>
      {icon && <Icon name={icon} />}
      {children}
    </>
  )
}
