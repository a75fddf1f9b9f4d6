// The words of the end of the set-up.

export const welcomeText = {
  title: 'Welcome to Tidings',
  lead: 'Your account is ready. Send an event, and see it arrive.',
  workspaceId: 'Workspace ID',
  send: 'Send your first event',
  keyPlace: 'DATA_KEY',
  printedKey:
    'The data key was printed when the workspace was created. Replace DATA_KEY with it, and run this in a terminal.',
  newKey: 'Run this in a terminal. Copy the key now: it is never shown again after you leave this page.',
  generate: 'Generate new key',
  generateNote: 'Only if you no longer have the printed one: the new key replaces it.',
  waiting: 'Waiting for your first event',
  arrived: (action: string, customer: string) => `It works: the event ${action} from the user ${customer} arrived`,
  demo: 'Or try demo data',
  demoLead: 'Creates another workspace with a shop’s events, campaigns and users. One command removes it again.',
  next: 'Connect your programs',
  nextLead:
    'Settings › APIs says when each of the two keys was created and last used, and can generate new ones. A key is shown only once, when it is new.',
  keys: 'Manage keys',
  home: 'Go to the home page',
}
