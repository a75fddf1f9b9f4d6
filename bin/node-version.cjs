// Loaded before everything else, by whatever Node there is: a Node that cannot run TypeScript says so and ends.
// Written so that Nodes of ten years ago can read it.
'use strict'

var NEEDED = 24

if (parseInt(process.versions.node, 10) < NEEDED) {
  var found = process.execPath + ' is ' + process.version
  process.stderr.write('Tidings needs Node ' + NEEDED + ' or newer, and ' + found + '. ')
  process.stderr.write('`npm ci` installs one beside Tidings, unless optional dependencies are left out.\n')
  process.exit(1)
}
