/** The server broke the rule; the message says what was seen. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** The rule could not be looked at; the message says why. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
