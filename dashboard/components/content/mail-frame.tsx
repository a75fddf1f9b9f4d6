// Shows the HTML of a mail as its reader would see it, on a desk or a phone, in light or dark. The HTML comes from an address of its own
// in a frame from which nothing runs and no request leaves; images are loaded only when somebody asks for them.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useAddress } from '../../data/address.ts'
import { mailText } from '../../texts/mail.ts'
import { Button } from '../controls/button.tsx'
import { Switch } from '../controls/field.tsx'

type Device = (typeof mailText.devices)[number]['value']
type Scheme = (typeof mailText.schemes)[number]['value']

/** In CSS pixels, as mails are laid out. A frame that does not fit is made smaller. */
const WIDTH_OF: { readonly [device in Device]: number } = { desktop: 720, phone: 375 }
/** What may load an image: `src="https://…"`, `background="//…"`, `url(https://…)`. */
const REMOTE_IMAGE = /(?:src|srcset|background)\s*=\s*["']?\s*(?:https?:)?\/\/|url\(\s*["']?\s*(?:https?:)?\/\//i

interface MailFrameProps {
  readonly html: string
  /** Names the frame for readers of the screen. */
  readonly title: string
}

/** Width and scheme stand in the address: `device`, `scheme`. */
export function MailFrame({ html, title }: MailFrameProps) {
  const address = useAddress()
  const [hasImages, setImages] = useState(false)
  const device: Device = address.get('device') === 'phone' ? 'phone' : 'desktop'
  const scheme: Scheme = address.get('scheme') === 'dark' ? 'dark' : 'light'
  return (
    <div class="mail">
      <div class="row">
        <Switch
          label={mailText.device}
          value={device}
          options={mailText.devices}
          onChange={(value) => address.set({ device: value === 'phone' ? value : undefined })}
        />
        <Switch
          label={mailText.scheme}
          value={scheme}
          options={mailText.schemes}
          onChange={(value) => address.set({ scheme: value === 'dark' ? value : undefined })}
        />
      </div>
      {!hasImages && REMOTE_IMAGE.test(html) && (
        <div class="row apart">
          <span class="note">{mailText.imagesBlocked}</span>
          <Button onClick={() => setImages(true)}>{mailText.loadImages}</Button>
        </div>
      )}
      <Fitted width={WIDTH_OF[device]} scheme={scheme}>
        <Frames html={html} hasImages={hasImages} title={title} />
      </Fitted>
    </div>
  )
}

interface FittedProps {
  readonly width: number
  readonly scheme: Scheme
  readonly children: ComponentChildren
}

/** Content of a certain width, made smaller where that is wider than the place for it. */
function Fitted({ width, scheme, children }: FittedProps) {
  const place = useRef<HTMLDivElement>(null)
  const [room, setRoom] = useState(width)
  useLayoutEffect(() => {
    const element = place.current
    if (!element) return
    const observer = new ResizeObserver(() => setRoom(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const scale = Math.min(1, room / width)
  const style = { width: `${width}px`, height: `${100 / scale}%`, transform: `scale(${scale})`, colorScheme: scheme }
  return (
    <div class="mail-place" ref={place}>
      <div class="mail-frames" data-scheme={scheme} style={style}>
        {children}
      </div>
    </div>
  )
}

interface FramesProps extends MailFrameProps {
  readonly hasImages: boolean
}

interface Shown {
  readonly key: number
  readonly html: string
  readonly hasImages: boolean
}

/**
 * Each text has a frame of its own, because sending another one to the same frame would add a step to the history of the page. The frame
 * before stays until the next is loaded.
 */
function Frames({ html, hasImages, title }: FramesProps) {
  const [frames, setFrames] = useState<readonly Shown[]>([])
  useEffect(() => {
    setFrames((before) => {
      const last = before.at(-1)
      return [...before.slice(0, 1), { key: (last?.key ?? 0) + 1, html, hasImages }]
    })
  }, [html, hasImages])
  const onShown = (key: number) => setFrames((before) => before.filter((frame) => frame.key >= key))
  return (
    <>
      {frames.map(({ key, ...shown }, index) => (
        <Frame key={key} {...shown} title={title} isNext={index > 0} onShown={() => onShown(key)} />
      ))}
    </>
  )
}

interface FrameProps extends FramesProps {
  /** Whether another one is shown until it is loaded. */
  readonly isNext: boolean
  readonly onShown: () => void
}

function Frame({ html, hasImages, title, isNext, onShown }: FrameProps) {
  const name = useId()
  const form = useRef<HTMLFormElement>(null)
  const isSent = useRef(false)
  useEffect(() => {
    isSent.current = true
    form.current?.submit()
  }, [])
  // The empty document of a new frame is loaded too.
  const onLoad = () => isSent.current && onShown()
  return (
    <>
      <iframe class={isNext ? 'mail-frame next' : 'mail-frame'} sandbox="" name={name} title={title} onLoad={onLoad} />
      <form ref={form} hidden method="post" action="/dashboard/mail" target={name}>
        <textarea name="html" value={html} readOnly />
        {hasImages && <input name="images" value="yes" readOnly />}
      </form>
    </>
  )
}
