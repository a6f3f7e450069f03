/** The server broke the rule. The message says what was observed. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** The rule could not be checked. The message gives the reason. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
