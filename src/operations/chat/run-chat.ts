import type { Executor, JobEvent } from '../../jobs/executor.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { FinishReason, TextExtras, TextUsage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import {
  createRunTextJob,
  longestAnswer,
  type RunTextJobOptions,
  type TextEnd,
  type TextJobRequest,
} from './text-job.ts';

export interface ChatJobRequest extends TextJobRequest {
  conversationId: string | null;
  isLegacyCall: boolean;
}

/** Runs chat jobs. The result is the chat completion. */
export const createRunChat = (options: RunTextJobOptions): Executor =>
  createRunTextJob<ChatJobRequest>(options, (job, { isLegacyCall, conversationId }) => {
    const answer = createChatAnswer({ isLegacyCall });
    return { add: answer.add, end: (ended) => toCompletion(job, answer, { ...ended, conversationId }) };
  });

/** The part of a job that its answer names. */
export type ChatHead = Pick<Job, 'id' | 'createdAt' | 'model'>;

/** The members that a completion and the pieces of its stream begin with. */
export const chatHead = ({ id, createdAt, model }: ChatHead, object: string): JsonObject => ({
  id: `chatcmpl-${id}`,
  object,
  created: Math.floor(createdAt / 1000),
  model,
});

export const toCompletion = (
  job: ChatHead,
  answer: ChatAnswer,
  { finishReason, usage, isSandbox, conversationId }: TextEnd & Pick<ChatJobRequest, 'conversationId'>,
): JsonObject => {
  const message = answer.message();
  // Upstreams end a call with the name of either form.
  const form = callForms.find((name) => name in message);
  const reason = callForms.includes(finishReason) ? (form ?? finishReason) : finishReason;
  return {
    ...chatHead(job, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: reason, logprobs: answer.logprobs() }],
    usage: toWireUsage(usage),
    conversation_id: conversationId,
    ...(isSandbox ? { metadata: { sandbox: true } } : {}),
  };
};

/** The members of a message that have its calls, which are also the reasons to end with one. */
const callForms: FinishReason[] = ['tool_calls', 'function_call'];

interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  extraContent: JsonObject | undefined;
}

export type ChatAnswer = ReturnType<typeof createChatAnswer>;

/** Gathers the pieces of one answer into the message of a chat completion. */
export const createChatAnswer = ({ isLegacyCall }: Pick<ChatJobRequest, 'isLegacyCall'>) => {
  const pieces = { content: [] as string[], reasoning: [] as string[], refusal: [] as string[] };
  const calls = new Map<number, ToolCall>();
  const extras = createExtrasAccumulator();
  let length = 0;

  const grow = (text: string): string => {
    length += text.length;
    if (length > longestAnswer) throw new RangeError('the upstream answer has no end');
    return text;
  };

  const addCall = (piece: JobEvent & { type: 'tool_call' }): void => {
    const call = calls.get(piece.index) ?? { id: '', name: '', arguments: '', extraContent: undefined };
    if (!calls.has(piece.index)) grow('call');
    if (piece.extraContent !== undefined) grow(JSON.stringify(piece.extraContent));
    calls.set(piece.index, {
      id: piece.id ?? call.id,
      name: piece.name ?? call.name,
      arguments: call.arguments + grow(piece.arguments),
      extraContent: piece.extraContent ?? call.extraContent,
    });
  };

  return {
    /** Returns the piece without extras that are too long. Throws RangeError when the answer is too long. */
    add: (piece: JobEvent): JobEvent => {
      if (piece.type === 'tool_call') {
        addCall(piece);
        return piece;
      }
      if (piece.type !== 'content' || piece.text !== '') pieces[piece.type].push(grow(piece.text));
      if (piece.type !== 'content' || piece.extras === undefined || extras.add(piece.extras)) return piece;
      return { type: 'content', text: piece.text };
    },
    message: (): JsonObject => {
      const functions = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
      const members = extras.members();
      const saysOtherwise = functions.length > 0 || pieces.refusal.length > 0 || 'audio' in members;
      return {
        role: 'assistant',
        content: pieces.content.length === 0 && saysOtherwise ? null : pieces.content.join(''),
        ...(pieces.reasoning.length === 0 ? {} : { reasoning_content: pieces.reasoning.join('') }),
        refusal: pieces.refusal.length === 0 ? null : pieces.refusal.join(''),
        ...callMembers(functions, isLegacyCall),
        ...members,
      };
    },
    logprobs: extras.logprobs,
  };
};

const callMembers = (functions: readonly ToolCall[], isLegacyCall: boolean): JsonObject => {
  const [first] = functions;
  if (first === undefined) return {};
  if (isLegacyCall) return { function_call: { name: first.name, arguments: first.arguments } };
  return {
    tool_calls: functions.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
      ...(call.extraContent === undefined ? {} : { extra_content: call.extraContent }),
    })),
  };
};

export const toWireUsage = (usage: TextUsage): JsonObject => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.promptTokens + usage.completionTokens,
  prompt_tokens_details: { cached_tokens: usage.cachedTokens, audio_tokens: usage.promptAudioTokens ?? null },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: usage.completionAudioTokens ?? null,
    accepted_prediction_tokens: usage.acceptedPredictionTokens ?? null,
    rejected_prediction_tokens: usage.rejectedPredictionTokens ?? null,
  },
});

/** The limit of extras in one answer, in UTF-16 units of JSON: two minutes of speech as PCM. */
const longestExtras = 8 * 1024 * 1024;

/** Gathers the extras of one answer (log probabilities, annotations, audio) up to a limit. */
const createExtrasAccumulator = () => {
  const tokens = { content: [] as JsonObject[], refusal: [] as JsonObject[] };
  const annotations: JsonObject[] = [];
  const sound: Buffer[] = [];
  const transcript: string[] = [];
  let audio: { id?: string; expires_at?: number } | null = null;
  let length = 0;

  return {
    /** Returns false above the limit. Then these extras and all later ones are left out. */
    add: (extras: TextExtras): boolean => {
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
    /** Returns the choice's `logprobs` in the contract's form. */
    logprobs: (): JsonObject | null =>
      tokens.content.length + tokens.refusal.length === 0
        ? null
        : { content: orNull(tokens.content), refusal: orNull(tokens.refusal) },
    /** Returns the message's `annotations` and `audio`, where there are any. */
    members: (): JsonObject => ({
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
