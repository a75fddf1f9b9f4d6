// The words of the commonest long passwords, without the digits and signs around them. Passwords of twelve characters and more in
// published leaks are nearly all repetitions or runs of the keyboard, which `password-rules.ts` finds, or one of these with digits.

export const GUESSED_PASSWORDS: ReadonlySet<string> = new Set(
  `
  password passwords passwort passw0rd p@ssword p@ssw0rd pa$$word motdepasse contrasena contraseña wachtwoord parola haslo senha lozinka
  passwordpassword mypassword thepassword newpassword yourpassword password123password passwordone changeme changemenow letmein letmeinnow
  letmeinplease welcome welcomehome welcome123welcome administrator administrador admin adminadmin superadmin rootroot superuser supervisor
  default defaultpassword temporary temppassword testtest testpassword testing qwerty qwertyqwerty qwertyuiop qwertyasdfgh azerty azertyuiop
  qwertz asdfghjkl asdfasdf asdfghasdfgh zxcvbnm zxcvbnmasdf 1q2w3e4r5t6y 1q2w3e4r 1qaz2wsx3edc 1qaz2wsx 1qazxsw2 qazwsxedc qazwsxedcrfv
  q1w2e3r4t5y6 q1w2e3r4 zaq12wsx zaq1zaq1 iloveyou iloveyouforever iloveyousomuch iloveyoubaby ilovemyself ilovejesus ilovegod ihateyou
  loveyou loveyouforever lovelove mylove sunshine princess princessa football baseball basketball volleyball superman batman spiderman
  starwars pokemon minecraft monkey monkeymonkey dragon dragonball dragonballz shadow master michael jennifer jessica charlie
  trustno1 trustnoone whatever nothing secret secretpassword topsecret mysecret computer internet samsung iphone android facebook google
  googlechrome microsoft windows linux linkedin instagram youtube whatsapp twitter netflix amazon hello hellohello helloworld hellokitty
  abc123abc123 abcabc abcd1234abcd abcdefgh1234 a1b2c3d4e5f6 a1b2c3d4 aabbccdd access accessdenied opensesame blahblah fuckyou
  fuckyouall fuckoff bullshit liverpool manchester manchesterunited arsenal chelsea barcelona realmadrid juventus galatasaray fenerbahce
  summer winter autumn spring january february march april june july august september october november december monday tuesday
  wednesday thursday friday saturday sunday correcthorsebatterystaple nopassword nopasswordhere
  tidings tidingsadmin tidingspassword dashboard mydashboard marketing newsletter company mycompany
  `
    .trim()
    .split(/\s+/),
)
