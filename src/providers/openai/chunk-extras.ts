import { z } from 'zod';
import { jsonExcess } from '../../kit/bounded-json.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { TextExtras } from '../text/text-provider.ts';

/** A member that counts as absent when it is missing, null or of another type. */
export const tolerant = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const text = tolerant(z.string());
const bytes = z.array(z.int()).nullable().catch(null);
const tokens = z
  .array(
    z.object({
      token: z.string(),
      logprob: z.number(),
      bytes,
      top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number(), bytes })).catch([]),
    }),
  )
  .catch([]);

/** An object as it was sent, unless it has too many members or levels. */
export const looseObject = z.custom<JsonObject>(
  (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && jsonExcess(value) === null,
);

export const logprobsSchema = tolerant(z.object({ content: tokens, refusal: tokens }));

export const annotationsSchema = tolerant(z.array(looseObject));

export const audioSchema = tolerant(
  z.object({ id: text, data: text, transcript: text, expires_at: tolerant(z.number()) }),
);

/** Returns the parts of a chunk beside its words; undefined when there are none. */
export const toExtras = ({
  logprobs,
  annotations = [],
  audio,
}: {
  logprobs: z.infer<typeof logprobsSchema>;
  annotations?: z.infer<typeof annotationsSchema>;
  audio?: z.infer<typeof audioSchema>;
}): TextExtras | undefined => {
  if (logprobs === undefined && annotations.length === 0 && audio === undefined) return undefined;
  const spoken = Object.fromEntries(Object.entries(audio ?? {}).filter(([, value]) => value !== undefined));
  const extras: TextExtras = {
    ...(logprobs !== undefined && logprobs.content.length + logprobs.refusal.length > 0 ? { logprobs } : {}),
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(Object.keys(spoken).length > 0 ? { audio: spoken } : {}),
  };
  return Object.keys(extras).length === 0 ? undefined : extras;
};
