import { createHash } from 'node:crypto';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import { pause } from '../../kit/repeat.ts';
import { ProviderError } from '../provider-error.ts';
import type { FinishReason, TextProvider, TextRequest } from '../text/text-provider.ts';
import { promptText, type TokenCounter } from '../tokens/token-counter.ts';
import {
  composeText,
  countWords,
  excerpt,
  readConversation,
  sandboxNotice,
  type Conversation,
} from './compose-text.ts';
import { obeyTriggers, readTriggers, stall } from './triggers.ts';
import { ThreadError } from '../../kit/threads/connect-thread.ts';
import { createThreadPool } from '../../kit/threads/thread-pool.ts';

export interface SandboxTextOptions {
  counter: TokenCounter;
  examples: ExampleMaker;
  pieceDelayMs?: number;
}

const wordsPerEvent = 3;
/** The output limit of `[sandbox:truncate]`. */
const truncatedTokens = 16;
const eventsBeforeStall = 2;

/** Makes text without a model, the same for the same request. Its tokens are those of the words that were sent. */
export const createSandboxText = ({
  counter,
  examples,
  pieceDelayMs = 4,
}: SandboxTextOptions): TextProvider => ({
  answer: async (request, { signal, emit }) => {
    const conversation = readConversation(request.messages);
    const triggers = readTriggers(conversation.question);
    await obeyTriggers(triggers, signal);
    const prompt = promptText(request);
    const [promptTokens = 0] = await counter.count([prompt.text], signal);
    const answer = await composeAnswer(request, conversation, { examples, signal });
    const maxTokens = Math.min(request.maxOutputTokens, triggers.isTruncated ? truncatedTokens : Infinity);
    const fitted = await fitToTokens(answer.text, { counter, maxTokens, signal });
    if (answer.call !== null) emit({ type: 'tool_call', index: 0, ...answer.call, arguments: '' });
    let sent = 0;
    for (const text of grouped(fitted.pieces)) {
      emit(
        answer.call === null ? { type: 'content', text } : { type: 'tool_call', index: 0, arguments: text },
      );
      sent += 1;
      if (triggers.stalls && sent >= eventsBeforeStall) await stall(signal);
      if (pieceDelayMs > 0) await pause(pieceDelayMs, signal);
      signal.throwIfAborted();
    }
    if (triggers.stalls) await stall(signal);
    emit({ type: 'finish', reason: fitted.isCut || triggers.isTruncated ? 'length' : answer.finishReason });
    emit({
      type: 'usage',
      usage: {
        promptTokens: promptTokens + prompt.extraTokens,
        completionTokens: fitted.tokens,
        cachedTokens: null,
        reasoningTokens: null,
      },
    });
  },
});

interface Answer {
  /** The words, the JSON or the call's arguments. */
  text: string;
  call: { id?: string; name: string } | null;
  finishReason: FinishReason;
}

/** Composes the answer in the form that the request's options ask for. */
const composeAnswer = async (
  { options }: TextRequest,
  conversation: Conversation,
  { examples, signal }: { examples: ExampleMaker; signal: AbortSignal },
): Promise<Answer> => {
  const inWords = (text: string): Answer => ({ text, call: null, finishReason: 'stop' });
  const tools = definitions(options['tools']).concat(definitions(options['functions']));
  const called = requiredCall(options, tools);
  if (called !== null) {
    const { name, schema, isLegacy } = called;
    const text = await examples.make(schema, signal);
    // A legacy function call has no id.
    return isLegacy
      ? { text, call: { name }, finishReason: 'function_call' }
      : { text, call: { name, id: callId(name, conversation) }, finishReason: 'tool_calls' };
  }
  const format = asObject(options['response_format']);
  if (format?.['type'] === 'json_object') return inWords(jsonAnswer(conversation));
  if (format?.['type'] === 'json_schema')
    return inWords(await examples.make(asObject(format['json_schema'])?.['schema'] ?? {}, signal));
  const names = tools.map(({ name }) => name);
  return inWords(composeText(conversation, names));
};

const jsonAnswer = ({ question, messageCount }: Conversation): string =>
  JSON.stringify({
    sandbox: true,
    notice: sandboxNotice,
    question: excerpt(question, 240),
    length: countWords(question),
    messages: messageCount,
  });

/** Returns the same id for the same request, and another one for each turn of a conversation. */
const callId = (name: string, { question, messageCount }: Conversation): string => {
  const hash = createHash('sha256').update(`${messageCount}\n${name}\n${question.slice(0, 65_536)}`);
  return `call_${hash.digest('hex').slice(0, 24)}`;
};

const grouped = function* (words: readonly string[]): Generator<string> {
  for (let start = 0; start < words.length; start += wordsPerEvent)
    yield words.slice(start, start + wordsPerEvent).join('');
};

/** Words with the space before them. Text without spaces is split every 16 characters. */
const wordPattern = /\s*\S{1,16}|\s+$/gu;

/** Splits a text at words and keeps as many from its beginning as `maxTokens` allows. */
const fitToTokens = async (
  text: string,
  { counter, maxTokens, signal }: { counter: TokenCounter; maxTokens: number; signal: AbortSignal },
) => {
  const words = text.match(wordPattern) ?? [];
  const counts = await counter.count(words, signal);
  let tokens = 0;
  let kept = 0;
  while (kept < words.length && tokens + (counts[kept] ?? 0) <= maxTokens) {
    tokens += counts[kept] ?? 0;
    kept += 1;
  }
  return { pieces: words.slice(0, kept), tokens, isCut: kept < words.length };
};

interface FunctionDefinition {
  name: string;
  /** The JSON schema of the arguments. */
  schema: Json;
}

/** Returns the function that must be called. Throws ProviderError when it is not in the request. */
const requiredCall = (
  options: { [name: string]: Json },
  tools: FunctionDefinition[],
): (FunctionDefinition & { isLegacy: boolean }) | null => {
  const choice = options['tool_choice'];
  const chosen = choice === 'required' ? { name: tools[0]?.name } : asObject(asObject(choice)?.['function']);
  const legacy = chosen === null ? asObject(options['function_call']) : null;
  const wanted = chosen ?? legacy;
  if (wanted === null) return null;
  const tool = tools.find(({ name }) => name === wanted['name']);
  if (tool === undefined)
    throw new ProviderError('the tool choice names no function of the request', {
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  return { ...tool, isLegacy: legacy !== null };
};

/** Function definitions in OpenAI's tool form, or in the legacy form without the wrapper. */
const definitions = (list: Json | undefined): FunctionDefinition[] => {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry) => {
    const definition = asObject(asObject(entry)?.['function']) ?? asObject(entry);
    const name = definition?.['name'];
    // Arguments are always an object, even if the schema does not say so.
    const schema = { type: 'object', ...asObject(definition?.['parameters']) };
    return typeof name === 'string' ? [{ name, schema }] : [];
  });
};

const asObject = (value: Json | undefined): JsonObject | null => (isJsonObject(value) ? value : null);

export type ExampleMaker = ReturnType<typeof createExampleMaker>;

/** Makes example values of JSON schemas, in a thread because callers' schemas are not trusted. */
export const createExampleMaker = () => {
  const pool = createThreadPool<Json, string>({
    file: new URL('./examples/worker.ts', import.meta.url),
    size: 1,
    queueLimit: 100,
    timeoutMs: 5_000,
    maxHeapMb: 256,
  });
  return {
    /** Returns a valid value as JSON text, the same for the same schema. Throws ProviderError, or the signal's reason. */
    make: async (schema: Json, signal: AbortSignal): Promise<string> => {
      try {
        return await pool.run(schema, signal);
      } catch (error) {
        throw error instanceof ThreadError ? toProviderError(error) : error;
      }
    },
    close: () => pool.close(),
  };
};

const toProviderError = (error: ThreadError): ProviderError => {
  const isOverload = error.reason === 'full' || error.reason === 'closed';
  return new ProviderError(`the sandbox has no example of the schema: ${error.message}`, {
    failure: 'fatal',
    code: isOverload ? 'upstream_unavailable' : 'invalid_parameter',
    cause: error,
  });
};
