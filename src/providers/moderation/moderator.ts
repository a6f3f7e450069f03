/** The words and pictures of a request. */
export interface ModerationInput {
  text: string;
  /** By the bytes' own magic number: `image/png`, `image/jpeg` or `image/webp`. */
  images: readonly { contentType: string; load(signal: AbortSignal): Promise<Uint8Array> }[];
}

/** Checks requests before they are carried out, in addition to the refusals of models. */
export interface Moderator {
  /**
   * Resolves when nothing is flagged. Throws ProviderError with `content_policy_violation` for a flagged request, and with
   * another code when the check failed. Throws the signal's reason when it aborts.
   */
  check(input: ModerationInput, options: { signal: AbortSignal }): Promise<void>;
}
