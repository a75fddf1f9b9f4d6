// The words around a mail that is shown.

export const mailText = {
  device: 'Width',
  devices: [
    { value: 'desktop', label: 'Desktop' },
    { value: 'phone', label: 'Phone' },
  ],
  scheme: 'Colours',
  schemes: [
    { value: 'light', label: 'Light' },
    { value: 'dark', label: 'Dark' },
  ],
  loadImages: 'Load images',
  imagesBlocked: 'Images are not loaded.',
} as const
