// The words of the pages before somebody has signed in.

export const doorText = {
  signIn: 'Sign in',
  signInLead: 'To the dashboard of this server.',
  email: 'Email address',
  password: 'Password',
  code: 'Code',
  codeHint: 'Six digits from your authenticator app, or a recovery code.',
  forgotten: 'No account, or forgot your password? Ask an owner of your workspace for a link.',
  setupTitle: 'Set up Tidings',
  setupLead: 'Your account will own every workspace on this server. You can invite others afterwards.',
  setupSubmit: 'Create your account',
  invitationTitle: 'Accept your invitation',
  invitationLead: (role: string, workspace: string) => `Your role in ${workspace} will be ${role}.`,
  everyWorkspace: 'every workspace',
  invitationSubmit: 'Create your account',
  signInToJoin: 'You already have an account. Sign in to accept.',
  signedInAs: (email: string) => `You are signed in as ${email}.`,
  joinSubmit: 'Join the workspace',
  resetTitle: 'Choose a new password',
  resetLead: 'Your other sessions end.',
  resetSubmit: 'Save password',
  name: 'Your name',
  passwordHint:
    'At least 12 characters. A few words that only you would combine are easy to remember and hard to guess.',
  badLink: 'This link does not work',
  toSignIn: 'Go to sign-in',
  newSetupLink:
    'If nobody has an account yet, restart the server to print a new link. Otherwise, ask an owner for one.',
}
