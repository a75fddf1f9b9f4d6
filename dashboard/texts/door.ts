// The words of the pages before somebody has signed in.

export const doorText = {
  signIn: 'Sign in',
  signInLead: 'To the dashboard of this server.',
  email: 'Email address',
  password: 'Password',
  code: 'Code',
  codeHint: 'Six digits from your authenticator, or a recovery code.',
  forgotten: 'No account, or a forgotten password? An owner of your workspace makes a link for you.',
  setupTitle: 'Set up Tidings',
  setupLead: 'Your account will own every workspace of this server. You can invite others afterwards.',
  setupSubmit: 'Create your account',
  invitationTitle: 'Accept your invitation',
  invitationLead: (role: string, workspace: string) => `You will be ${role} in ${workspace}.`,
  everyWorkspace: 'every workspace',
  invitationSubmit: 'Create your account',
  signInToJoin: 'You have an account already. Sign in to accept.',
  signedInAs: (email: string) => `You are signed in as ${email}.`,
  joinSubmit: 'Join the workspace',
  resetTitle: 'Choose a new password',
  resetLead: 'Your other sessions end.',
  resetSubmit: 'Save the password',
  name: 'Your name',
  passwordHint:
    '12 characters or more. A few words that belong together only for you are easy to remember and hard to guess.',
  badLink: 'This link does not work',
  toSignIn: 'Go to sign in',
  newSetupLink:
    'If nobody has an account yet, restart the server: its start prints a new link. An owner makes links for everybody else.',
}
