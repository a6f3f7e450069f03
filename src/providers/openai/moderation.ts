/** How compatible upstreams name a refusal by their content policy. */
const moderationCodes = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
  'content_blocked',
  'safety_violation',
]);

const longestExplanation = 500;

export const isModeration = ({ code, type }: { code: string | null; type: string | null }): boolean =>
  (code !== null && moderationCodes.has(code)) || (type !== null && moderationCodes.has(type));

/** The upstream's explanation without sentences that name it, its addresses or its request ids; may be empty. */
export const moderationExplanation = (message: string): string =>
  (message.slice(0, 4 * longestExplanation).match(/[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*/gu) ?? [])
    .map((sentence) => sentence.trim())
    .filter(
      (sentence) =>
        !/https?:|www\.|\S@\S|\breq_|request id|openai|azure|google|gemini|microsoft|support/i.test(sentence),
    )
    .join(' ')
    .slice(0, longestExplanation)
    .toWellFormed();
