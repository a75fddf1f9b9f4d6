// The operator's settings of delivery, as `app/config.ts` reads them from the environment.

export interface DeliveryConfig {
  /** The base of all links in messages: http or https, without a slash at its end. */
  readonly publicUrl: string | undefined
  /** Whether senders may use SMTP in plain text with other machines. */
  readonly allowPlainSmtp: boolean
  /** Host names in lower case and IP addresses from which attachments are fetched although they are private. */
  readonly attachmentHosts: readonly string[]
  readonly machineNetworks: readonly MachineNetwork[]
}

/** A network whose hits are those of machines. */
export interface MachineNetwork {
  readonly address: string
  /** How many leading bits of an address decide. */
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
  readonly opens: boolean
  readonly clicks: boolean
}
