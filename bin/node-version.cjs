// Loaded first, by any version of Node: prints an error and exits if this Node cannot run TypeScript.
// Uses only syntax that a ten-year-old Node can parse.
'use strict'

var NEEDED = 24

if (parseInt(process.versions.node, 10) < NEEDED) {
  var found = process.execPath + ' is ' + process.version
  process.stderr.write('Tidings needs Node ' + NEEDED + ' or newer, and ' + found + '. ')
  process.stderr.write('`npm ci` installs one beside Tidings, unless optional dependencies are left out.\n')
  process.exit(1)
}
