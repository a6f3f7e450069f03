/** What is checked: the words of a request and its pictures. */
export interface ModerationInput {
  text: string;
  /** By the bytes' own magic number: `image/png`, `image/jpeg` or `image/webp`. */
  images: readonly { contentType: string; load(signal: AbortSignal): Promise<Uint8Array> }[];
}

/** A look at a request before it is carried out, beside what models refuse by themselves. */
export interface Moderator {
  /**
   * Resolves when nothing is wrong. Throws ProviderError: `content_policy_violation` for what is flagged, another code when
   * it could not be looked at; or the signal's reason.
   */
  check(input: ModerationInput, options: { signal: AbortSignal }): Promise<void>;
}
