// The words of the page about consent.
import { formatCounted } from '../format.ts'

export const consentText = {
  lead: 'The categories of email that people agree to, and the proofs that they did.',
  add: 'Add category',
  added: 'Category added',
  proofs: 'Download proofs of consent',
  proofsHint:
    'Every decision of every user: when, how, from which address, before and after. One JSON object per line.',
  proofsTitle: 'Proofs of consent',
  none: 'No categories yet',
  noneLead:
    'A category is a kind of email that people can switch on or off, such as “Offers”. Without categories, people can only opt in to or out of everything.',
  categories: 'Categories',
  categoriesLead:
    'The label of each category on the preference page, in the order of that page. Without a label, people see the name.',
  name: 'Name',
  nameHint: 'Requests, campaigns and proofs of consent use it, so it never changes.',
  labels: 'Labels by language',
  labelsLead: 'One for each language of your recipients. Without a label in their language, they see the name.',
  language: 'Language',
  text: 'Label',
  addLanguage: 'Add language',
  removeLanguage: (language: string) => `Remove language ${language}`,
  edit: 'Edit labels',
  editOf: (name: string) => `Edit labels of ${name}`,
  save: 'Save labels',
  saved: 'Labels saved',
  remove: 'Remove category',
  removeOf: (name: string) => `Remove category ${name}`,
  removed: 'Category removed',
  removeLead: (name: string) =>
    `The preference page stops showing ${name}, and requests that name it are refused. People’s choices and the proofs stay, and apply again if you add the category again.`,
  fallback: 'the name: there is no label',
  counted: (count: number) => formatCounted(count, 'category', 'categories'),
  more: 'More categories',
  actions: 'Actions',
}
