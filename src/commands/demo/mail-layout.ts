// The HTML of the demo's mails: a table layout that mail programs understand, with Liquid, for small screens and dark ones too.
import type { DemoMail } from './demo-mail.ts'
import type { DemoLocale } from './people.ts'

const SHOP_URL = 'https://juniper.example'

interface LayoutWords {
  readonly hello: string
  readonly products: readonly (readonly [name: string, price: string])[]
  readonly code: string
  readonly view: string
  readonly why: string
  readonly unsubscribe: string
  readonly preferences: string
}

const WORDS: Readonly<Record<DemoLocale, LayoutWords>> = {
  en: {
    hello: 'Hello {{ first_name | default: "there" }},',
    products: [
      ['Wool blanket', '€119'],
      ['Stoneware mug', '€14.90'],
      ['Folding chair', '€79'],
    ],
    code: 'Your code',
    view: 'View in your browser',
    why: 'You receive this mail because you have an account with Juniper.',
    unsubscribe: 'Unsubscribe',
    preferences: 'Choose what we send',
  },
  de: {
    hello: 'Hallo {{ first_name | default: "du" }},',
    products: [
      ['Wolldecke', '119 €'],
      ['Becher aus Steinzeug', '14,90 €'],
      ['Klappstuhl', '79 €'],
    ],
    code: 'Dein Code',
    view: 'Im Browser ansehen',
    why: 'Du bekommst diese Mail, weil du ein Konto bei Juniper hast.',
    unsubscribe: 'Abmelden',
    preferences: 'Auswählen, was wir senden',
  },
  fr: {
    hello: 'Bonjour {{ first_name | default: "" }},',
    products: [
      ['Couverture en laine', '119 €'],
      ['Tasse en grès', '14,90 €'],
      ['Chaise pliante', '79 €'],
    ],
    code: 'Votre code',
    view: 'Voir dans le navigateur',
    why: 'Vous recevez ce message parce que vous avez un compte chez Juniper.',
    unsubscribe: 'Se désabonner',
    preferences: 'Choisir vos envois',
  },
  es: {
    hello: 'Hola, {{ first_name | default: "" }}:',
    products: [
      ['Manta de lana', '119 €'],
      ['Taza de gres', '14,90 €'],
      ['Silla plegable', '79 €'],
    ],
    code: 'Tu código',
    view: 'Ver en el navegador',
    why: 'Recibes este correo porque tienes una cuenta en Juniper.',
    unsubscribe: 'Darse de baja',
    preferences: 'Elegir qué enviamos',
  },
}

const STYLES = `
  body { margin: 0; background: #f4f1ec; color: #26221c; font: 16px/1.6 Georgia, "Times New Roman", serif; }
  .card { width: 100%; max-width: 600px; background: #ffffff; border-radius: 12px; overflow: hidden; }
  .pad { padding: 32px 40px; }
  h1 { margin: 0 0 16px; font-size: 30px; line-height: 1.2; font-weight: normal; }
  p { margin: 0 0 20px; }
  .button { display: inline-block; padding: 13px 26px; border-radius: 6px; color: #ffffff; text-decoration: none; font: bold 15px/1 Arial, sans-serif; }
  .code { margin: 0 0 24px; padding: 16px; border: 1px dashed #b3a894; border-radius: 8px; text-align: center; }
  .code span { display: block; font: 12px/1.5 Arial, sans-serif; color: #6d6353; }
  .code b { font: bold 22px/1.4 "Courier New", monospace; letter-spacing: 2px; }
  .thing { padding: 0 6px 24px; font: 13px/1.4 Arial, sans-serif; text-align: center; }
  .thing div { height: 96px; margin: 0 0 8px; border-radius: 8px; background: #e6dfd3; }
  .foot { padding: 24px 40px; font: 12px/1.6 Arial, sans-serif; color: #6d6353; text-align: center; }
  .foot a { color: #6d6353; }
  @media (max-width: 480px) { .pad, .foot { padding: 24px 20px; } h1 { font-size: 25px; } }
  @media (prefers-color-scheme: dark) {
    body { background: #171512; color: #ece6da; } .card { background: #221f1a; }
    .foot, .foot a, .code span { color: #b3a894; } .thing div { background: #3a352c; }
  }
`

/** The HTML of a mail in one language. */
export function toMailHtml({ words, colour, path, hasProducts, coupon }: DemoMail, locale: DemoLocale): string {
  const { subject: _, preview, title, text, button } = words[locale]
  const layout = WORDS[locale]
  const link = `${SHOP_URL}/${locale}/${path}`
  return `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLES}</style>
</head>
<body>
<div style="display:none;max-height:0;overflow:hidden">${preview}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" cellpadding="0" cellspacing="0">
<tr><td style="background:${colour};padding:44px 40px;color:#ffffff">
  <a href="${SHOP_URL}/${locale}" style="color:#ffffff;text-decoration:none;font:bold 14px/1 Arial,sans-serif;letter-spacing:4px">JUNIPER</a>
  <div style="margin-top:40px;font-size:36px;line-height:1.15">${title}</div>
</td></tr>
<tr><td class="pad">
  <p>${layout.hello}</p>
  <p>${text}</p>
${coupon === undefined ? '' : `  <div class="code"><span>${layout.code}</span><b>{{Coupons.CouponListName[${coupon}]}}</b></div>\n`}  <a class="button" style="background:${colour}" href="${link}">${button}</a>
</td></tr>
${hasProducts === true ? productsRow(layout, `${SHOP_URL}/${locale}`) : ''}</table>
<table role="presentation" width="100%" style="max-width:600px" cellpadding="0" cellspacing="0">
<tr><td class="foot">
  <p>${layout.why}</p>
  <a href="{{ preferences_url }}">${layout.preferences}</a> · <a href="{{ unsubscribe_url }}">${layout.unsubscribe}</a> · <a href="{{ view_url }}">${layout.view}</a>
</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`
}

function productsRow({ products }: LayoutWords, shop: string): string {
  const cells = products.map(
    ([name, price], index) =>
      `  <td class="thing" width="33%"><div></div><a href="${shop}/p/${index + 1}" style="color:inherit">${name}</a><br>${price}</td>\n`,
  )
  return `<tr><td style="padding:0 34px"><table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr>\n${cells.join('')}</tr></table></td></tr>\n`
}
