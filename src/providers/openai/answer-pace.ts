/** Half of the shortest time after which proxies commonly cut a silent connection. */
export const longestSilenceMs = 30_000;
/** An answer with fewer tokens counts as one with these, because it also waits for its first one. */
const leastTokens = 50;
/** The part of a faster answer in the known pace. */
const fasterShare = 0.1;

/**
 * Knows how fast each model of an upstream has answered, to decide which answers may come in one piece. Until its last byte
 * such an answer is silent, and proxies before an upstream cut a silent connection, many after a minute.
 */
export const createAnswerPace = () => {
  const msPerToken = new Map<string, number>();
  const streaming = new Set<string>();
  return {
    /** How long the longest answer to a request may take. It is not known before the model's first answer. */
    longestMs: ({ model, maxOutputTokens }: { model: string; maxOutputTokens: number }): number =>
      streaming.has(model) ? Infinity : maxOutputTokens * (msPerToken.get(model) ?? Infinity),
    /** Tells of an answer. A slower one counts at once, a faster one little by little. */
    learn: (model: string, { ms, tokens }: { ms: number; tokens: number }): void => {
      const pace = ms / Math.max(tokens, leastTokens);
      const known = msPerToken.get(model) ?? pace;
      msPerToken.set(model, Math.max(pace, known + (pace - known) * fasterShare));
    },
    /** An answer failed, perhaps because it was silent too long: the next one is a stream. */
    forget: (model: string): void => void msPerToken.delete(model),
    /** The model refuses to answer in one piece. */
    mustStream: (model: string): void => void streaming.add(model),
  };
};
