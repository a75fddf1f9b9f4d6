// The words of the unsubscribe link that is added to a message without one, in the languages of the public pages.

interface UnsubscribeWords {
  readonly language: string
  readonly link: string
  readonly isRightToLeft: boolean
}

const ENGLISH = 'Unsubscribe'
const LINKS: Readonly<Record<string, string>> = {
  en: ENGLISH,
  de: 'Abmelden',
  fr: 'Se désabonner',
  es: 'Cancelar suscripción',
  pt: 'Cancelar inscrição',
  hi: 'सदस्यता समाप्त करें',
  ja: '配信停止',
  ar: 'إلغاء الاشتراك',
}

/** In the language of a locale such as `pt-BR`; in English if there are no others. */
export function unsubscribeWords(locale: string | null): UnsubscribeWords {
  const [language = ''] = (locale ?? '').toLowerCase().split(/[-_]/)
  const link = Object.hasOwn(LINKS, language) ? LINKS[language] : undefined
  return link === undefined
    ? { language: 'en', link: ENGLISH, isRightToLeft: false }
    : { language, link, isRightToLeft: language === 'ar' }
}
