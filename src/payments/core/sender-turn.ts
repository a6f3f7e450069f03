/**
 * The turn to send from an account that several processes may share, so that they do not sign for the same place. A
 * courtesy: who sends without it loses a signature at worst.
 */
export interface SenderTurn {
  /**
   * Takes the turn, or keeps it. Resolves with whether it was kept without a break, as then nobody else has sent in
   * between. Waits for others at most `patienceMs`, and goes on without them; rejects never.
   */
  take(options: { signal: AbortSignal; patienceMs: number }): Promise<{ isKept: boolean }>;
  /** Lets others have it. Rejects never. */
  end(): Promise<void>;
}
