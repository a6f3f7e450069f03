import type { JsonObject } from '../../kit/json.ts';
import type { TextExtras } from '../../providers/text/text-provider.ts';

/** The limit of extras in one answer, in UTF-16 units of JSON: two minutes of speech as PCM. */
const longestExtras = 8 * 1024 * 1024;

/** Gathers the extras of one answer (log probabilities, annotations, audio) up to a limit. */
export interface ExtrasAccumulator {
  /** Returns false above the limit. Then these extras and all later ones are left out. */
  add(extras: TextExtras): boolean;
  /** Returns the choice's `logprobs` in the contract's form. */
  logprobs(): JsonObject | null;
  /** Returns the message's `annotations` and `audio`, where there are any. */
  members(): JsonObject;
}

export const createExtrasAccumulator = (): ExtrasAccumulator => {
  const tokens = { content: [] as JsonObject[], refusal: [] as JsonObject[] };
  const annotations: JsonObject[] = [];
  const sound: Buffer[] = [];
  const transcript: string[] = [];
  let audio: { id?: string; expires_at?: number } | null = null;
  let length = 0;

  return {
    add: (extras) => {
      length += JSON.stringify(extras).length;
      if (length > longestExtras) return false;
      for (const token of extras.logprobs?.content ?? []) tokens.content.push(token);
      for (const token of extras.logprobs?.refusal ?? []) tokens.refusal.push(token);
      for (const annotation of extras.annotations ?? []) annotations.push(annotation);
      if (extras.audio !== undefined) {
        const { data, transcript: words, ...rest } = extras.audio;
        audio = { ...audio, ...rest };
        if (data !== undefined) sound.push(Buffer.from(data, 'base64'));
        if (words !== undefined) transcript.push(words);
      }
      return true;
    },
    logprobs: () =>
      tokens.content.length + tokens.refusal.length === 0
        ? null
        : { content: orNull(tokens.content), refusal: orNull(tokens.refusal) },
    members: () => ({
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(audio === null
        ? {}
        : {
            audio: {
              ...audio,
              data: Buffer.concat(sound).toString('base64'),
              transcript: transcript.join(''),
            },
          }),
    }),
  };
};

const orNull = (list: JsonObject[]): JsonObject[] | null => (list.length === 0 ? null : list);
