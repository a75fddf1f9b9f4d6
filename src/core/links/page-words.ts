// The words of the pages behind links in messages, in each language. A category is a name that the workspace gave it.

export interface PageWords {
  readonly unsubscribe: string
  readonly askCategory: (category: string) => string
  readonly askAll: string
  readonly done: string
  readonly doneCategory: (category: string) => string
  readonly doneAll: string
  readonly preferences: string
  readonly choose: string
  readonly save: string
  readonly endAll: string
  readonly saved: string
  readonly isOut: string
}

const WORDS = {
  en: {
    unsubscribe: 'Unsubscribe',
    askCategory: (category) => `Would you like to stop receiving emails about “${isolated(category)}”?`,
    askAll: 'Would you like to stop receiving our emails?',
    done: 'You have been unsubscribed',
    doneCategory: (category) => `You will no longer receive emails about “${isolated(category)}”.`,
    doneAll: 'You will no longer receive our emails.',
    preferences: 'Email preferences',
    choose: 'Choose which emails you would like to receive.',
    save: 'Save preferences',
    endAll: 'Unsubscribe from all emails',
    saved: 'Your preferences have been saved.',
    isOut: 'You are unsubscribed from all emails.',
  },
  de: {
    unsubscribe: 'Abbestellen',
    askCategory: (category) => `Möchten Sie keine E-Mails zu „${isolated(category)}“ mehr erhalten?`,
    askAll: 'Möchten Sie keine E-Mails mehr von uns erhalten?',
    done: 'Sie haben sich abgemeldet',
    doneCategory: (category) => `Sie erhalten keine E-Mails zu „${isolated(category)}“ mehr.`,
    doneAll: 'Sie erhalten keine E-Mails mehr von uns.',
    preferences: 'E-Mail-Einstellungen',
    choose: 'Wählen Sie aus, welche E-Mails Sie erhalten möchten.',
    save: 'Einstellungen speichern',
    endAll: 'Alle E-Mails abbestellen',
    saved: 'Ihre Einstellungen wurden gespeichert.',
    isOut: 'Sie haben alle E-Mails abbestellt.',
  },
  fr: {
    unsubscribe: 'Se désabonner',
    askCategory: (category) =>
      `Souhaitez-vous ne plus recevoir d’e-mails concernant «\u00a0${isolated(category)}\u00a0»\u00a0?`,
    askAll: 'Souhaitez-vous ne plus recevoir nos e-mails\u00a0?',
    done: 'Votre désabonnement est confirmé',
    doneCategory: (category) => `Vous ne recevrez plus d’e-mails concernant «\u00a0${isolated(category)}\u00a0».`,
    doneAll: 'Vous ne recevrez plus nos e-mails.',
    preferences: 'Préférences d’e-mail',
    choose: 'Choisissez les e-mails que vous souhaitez recevoir.',
    save: 'Enregistrer les préférences',
    endAll: 'Se désabonner de tous les e-mails',
    saved: 'Vos préférences ont été enregistrées.',
    isOut: 'Vous ne recevez plus aucun e-mail de notre part.',
  },
  es: {
    unsubscribe: 'Cancelar la suscripción',
    askCategory: (category) => `¿Quieres dejar de recibir correos sobre «${isolated(category)}»?`,
    askAll: '¿Quieres dejar de recibir nuestros correos?',
    done: 'Has cancelado la suscripción',
    doneCategory: (category) => `Ya no recibirás correos sobre «${isolated(category)}».`,
    doneAll: 'Ya no recibirás nuestros correos.',
    preferences: 'Preferencias de correo',
    choose: 'Elige los correos que quieres recibir.',
    save: 'Guardar preferencias',
    endAll: 'Cancelar la suscripción a todos los correos',
    saved: 'Hemos guardado tus preferencias.',
    isOut: 'Has cancelado la suscripción a todos los correos.',
  },
  pt: {
    unsubscribe: 'Cancelar inscrição',
    askCategory: (category) => `Deseja parar de receber e-mails sobre “${isolated(category)}”?`,
    askAll: 'Deseja parar de receber nossos e-mails?',
    done: 'Inscrição cancelada',
    doneCategory: (category) => `Você não receberá mais e-mails sobre “${isolated(category)}”.`,
    doneAll: 'Você não receberá mais nossos e-mails.',
    preferences: 'Preferências de e-mail',
    choose: 'Escolha os e-mails que deseja receber.',
    save: 'Salvar preferências',
    endAll: 'Cancelar inscrição em todos os e-mails',
    saved: 'Suas preferências foram salvas.',
    isOut: 'Você cancelou a inscrição em todos os e-mails.',
  },
  hi: {
    unsubscribe: 'सदस्यता समाप्त करें',
    askCategory: (category) => `क्या आप “${isolated(category)}” से जुड़े ईमेल पाना बंद करना चाहते हैं?`,
    askAll: 'क्या आप हमारे ईमेल पाना बंद करना चाहते हैं?',
    done: 'आपकी सदस्यता समाप्त कर दी गई है',
    doneCategory: (category) => `अब आपको “${isolated(category)}” से जुड़े ईमेल नहीं मिलेंगे।`,
    doneAll: 'अब आपको हमारे ईमेल नहीं मिलेंगे।',
    preferences: 'ईमेल प्राथमिकताएँ',
    choose: 'चुनें कि आप कौन-से ईमेल पाना चाहते हैं।',
    save: 'प्राथमिकताएँ सहेजें',
    endAll: 'सभी ईमेल की सदस्यता समाप्त करें',
    saved: 'आपकी प्राथमिकताएँ सहेज ली गई हैं।',
    isOut: 'आपने सभी ईमेल की सदस्यता समाप्त कर दी है।',
  },
  ja: {
    unsubscribe: '配信を停止する',
    askCategory: (category) => `「${isolated(category)}」に関するメールの配信を停止しますか？`,
    askAll: 'メールの配信を停止しますか？',
    done: '配信を停止しました',
    doneCategory: (category) => `今後、「${isolated(category)}」に関するメールは届きません。`,
    doneAll: '今後、メールは届きません。',
    preferences: 'メール配信設定',
    choose: '受信したいメールを選択してください。',
    save: '設定を保存',
    endAll: 'すべてのメールの配信を停止する',
    saved: '設定を保存しました。',
    isOut: 'すべてのメールの配信を停止しています。',
  },
  ar: {
    unsubscribe: 'إلغاء الاشتراك',
    askCategory: (category) => `هل تريد التوقف عن تلقي الرسائل الخاصة بـ«${isolated(category)}»؟`,
    askAll: 'هل تريد التوقف عن تلقي رسائلنا؟',
    done: 'تم إلغاء اشتراكك',
    doneCategory: (category) => `لن تصلك بعد الآن الرسائل الخاصة بـ«${isolated(category)}».`,
    doneAll: 'لن تصلك رسائلنا بعد الآن.',
    preferences: 'تفضيلات البريد الإلكتروني',
    choose: 'اختر الرسائل التي ترغب في تلقيها.',
    save: 'حفظ التفضيلات',
    endAll: 'إلغاء الاشتراك في جميع الرسائل',
    saved: 'تم حفظ تفضيلاتك.',
    isOut: 'لقد ألغيت اشتراكك في جميع الرسائل.',
  },
} as const satisfies Readonly<Record<string, PageWords>>

export type PageLanguage = keyof typeof WORDS

export const PAGE_LANGUAGES = Object.keys(WORDS) as readonly PageLanguage[]

export function wordsIn(language: PageLanguage): PageWords {
  return WORDS[language]
}

/** The language of a locale, such as `pt-BR`; English if the pages do not have it. */
export function toPageLanguage(locale: unknown): PageLanguage {
  const [language] = typeof locale === 'string' ? locale.trim().toLowerCase().split(/[-_]/, 1) : []
  return PAGE_LANGUAGES.find((known) => known === language) ?? 'en'
}

export function directionOf(language: PageLanguage): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr'
}

/** Keeps the direction of a name apart from that of the sentence around it (FSI … PDI). */
function isolated(name: string): string {
  return `\u2068${name}\u2069`
}
