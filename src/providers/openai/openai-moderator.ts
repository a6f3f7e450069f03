import { z } from 'zod';
import type { Moderator } from '../provider.ts';
import { ProviderError } from '../provider-error.ts';
import type { OpenAiClient } from './openai-client.ts';

/** Moderation models read less at once than a prompt may have. */
const maxPieceLength = 20_000;
/** Pieces overlap, so that words at a border are whole in one of them. */
const overlap = 500;
const answerSchema = z.object({ results: z.array(z.object({ flagged: z.boolean() })).min(1) });

type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/** Checks by `/moderations` of an OpenAI-compatible upstream, one piece of text or one image in a call. */
export const createOpenAiModerator = ({
  client,
  model,
}: {
  client: OpenAiClient;
  model: string;
}): Moderator => {
  const look = async (part: Part, signal: AbortSignal): Promise<void> => {
    const answer = await client.call(
      ({ moderations }) => moderations.create({ model, input: [part] }),
      signal,
    );
    const { data, error } = answerSchema.safeParse(answer);
    if (data === undefined)
      throw new ProviderError('the moderation answer is not of the expected form', {
        failure: 'retry_same',
        cause: error,
      });
    if (data.results.some(({ flagged }) => flagged))
      throw new ProviderError('the moderation pass flagged the request', {
        failure: 'fatal',
        code: 'content_policy_violation',
      });
  };

  return {
    check: async ({ text, images }, { signal }) => {
      // A video from pictures alone has no text, and an upstream may refuse an empty one.
      const end = text === '' ? 0 : Math.max(1, text.length - overlap);
      for (let start = 0; start < end; start += maxPieceLength - overlap)
        await look({ type: 'text', text: text.slice(start, start + maxPieceLength).toWellFormed() }, signal);
      for (const { contentType, load } of images) {
        const base64 = Buffer.from(await load(signal)).toString('base64');
        await look({ type: 'image_url', image_url: { url: `data:${contentType};base64,${base64}` } }, signal);
      }
    },
  };
};
