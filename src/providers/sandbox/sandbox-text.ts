import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../kit/json.ts';
import { pause } from '../../kit/repeat.ts';
import { ProviderError } from '../provider-error.ts';
import type { FinishReason, TextProvider, TextRequest } from '../text/text-provider.ts';
import { promptText } from '../tokens/prompt-text.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import {
  composeText,
  countWords,
  excerpt,
  readConversation,
  sandboxNotice,
  type Conversation,
} from './compose-text.ts';
import type { ExampleMaker } from './examples/example-maker.ts';
import { obeyTriggers, readTriggers, stall } from './triggers.ts';

export interface SandboxTextOptions {
  counter: TokenCounter;
  examples: ExampleMaker;
  /** The pause between two events of a stream. */
  pieceDelayMs?: number;
}

const wordsPerEvent = 3;
/** The output limit of `[sandbox:truncate]`. */
const truncatedTokens = 16;
/** A stalled stream stops after this many events. */
const eventsBeforeStall = 2;

/**
 * Makes text without a language model: it says so, repeats the question, and, when the request asks for it, calls a
 * function or fills a JSON schema with examples. The same request gives the same answer. Completion tokens are those of the
 * words that were sent, so they are never above the limit.
 */
export const createSandboxText = ({
  counter,
  examples,
  pieceDelayMs = 4,
}: SandboxTextOptions): TextProvider => ({
  stream: async function* (request, { signal }) {
    const conversation = readConversation(request.messages);
    const triggers = readTriggers(conversation.question);
    await obeyTriggers(triggers, signal);
    const prompt = promptText(request);
    const [promptTokens = 0] = await counter.count([prompt.text], signal);
    const answer = await composeAnswer(request, conversation, { examples, signal });
    const maxTokens = Math.min(request.maxOutputTokens, triggers.isTruncated ? truncatedTokens : Infinity);
    const fitted = await fitToTokens(answer.text, { counter, maxTokens, signal });
    if (answer.call !== null) yield { type: 'tool_call', index: 0, ...answer.call, arguments: '' };
    let sent = 0;
    for (const text of grouped(fitted.pieces)) {
      yield answer.call === null
        ? { type: 'content', text }
        : { type: 'tool_call', index: 0, arguments: text };
      sent += 1;
      if (triggers.stalls && sent >= eventsBeforeStall) await stall(signal);
      if (pieceDelayMs > 0) await pause(pieceDelayMs, signal);
      signal.throwIfAborted();
    }
    if (triggers.stalls) await stall(signal);
    yield { type: 'finish', reason: fitted.isCut || triggers.isTruncated ? 'length' : answer.finishReason };
    yield {
      type: 'usage',
      usage: {
        promptTokens: promptTokens + prompt.extraTokens,
        completionTokens: fitted.tokens,
        cachedTokens: null,
        reasoningTokens: null,
      },
    };
  },
});

interface Answer {
  /** The words, the JSON or the call's arguments. */
  text: string;
  call: { id?: string; name: string } | null;
  finishReason: FinishReason;
}

const composeAnswer = async (
  request: TextRequest,
  conversation: Conversation,
  { examples, signal }: { examples: ExampleMaker; signal: AbortSignal },
): Promise<Answer> => {
  const output = readRequestedOutput(request.options);
  const text = await answerText(output, conversation, (schema) => examples.make(schema, signal));
  if (output.form !== 'call') return { text, call: null, finishReason: 'stop' };
  return output.isLegacy
    ? // A legacy function call has no id.
      { text, call: { name: output.name }, finishReason: 'function_call' }
    : {
        text,
        call: { name: output.name, id: callId(output.name, conversation) },
        finishReason: 'tool_calls',
      };
};

const answerText = (
  output: RequestedOutput,
  conversation: Conversation,
  example: (schema: Json) => Promise<string>,
): string | Promise<string> => {
  if (output.form === 'text') return composeText(conversation, output.offeredTools);
  if (output.form === 'json_object') return jsonAnswer(conversation);
  return example(output.schema);
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

interface FittedText {
  /** In order. Joined, they are the text or its beginning. */
  pieces: string[];
  tokens: number;
  isCut: boolean;
}

/** Words with the space before them. Text without spaces is split every 16 characters. */
const wordPattern = /\s*\S{1,16}|\s+$/gu;

/** Splits a text at words and keeps as many from its beginning as `maxTokens` allows. */
const fitToTokens = async (
  text: string,
  { counter, maxTokens, signal }: { counter: TokenCounter; maxTokens: number; signal: AbortSignal },
): Promise<FittedText> => {
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

/** The form of answer that a request's options ask for. */
type RequestedOutput =
  | { form: 'text'; offeredTools: string[] }
  | { form: 'json_object' }
  | { form: 'json_schema'; schema: Json }
  | { form: 'call'; name: string; schema: Json; isLegacy: boolean };

interface FunctionDefinition {
  name: string;
  /** The JSON schema of the arguments. */
  schema: Json;
}

/** Reads the form of the answer. Throws ProviderError when the named function is not in the request. */
const readRequestedOutput = (options: { [name: string]: Json }): RequestedOutput => {
  const tools = definitions(options['tools']).concat(definitions(options['functions']));
  return requiredCall(options, tools) ?? formatOf(options['response_format']) ?? offered(tools);
};

const offered = (tools: FunctionDefinition[]): RequestedOutput => ({
  form: 'text',
  offeredTools: tools.map((tool) => tool.name),
});

const requiredCall = (
  options: { [name: string]: Json },
  tools: FunctionDefinition[],
): RequestedOutput | null => {
  const choice = options['tool_choice'];
  if (choice === 'required') return callOf(tools, tools[0]?.name, false);
  const chosen = asObject(asObject(choice)?.['function']);
  if (chosen !== null) return callOf(tools, chosen['name'], false);
  const legacy = asObject(options['function_call']);
  return legacy === null ? null : callOf(tools, legacy['name'], true);
};

const callOf = (tools: FunctionDefinition[], name: Json | undefined, isLegacy: boolean): RequestedOutput => {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined)
    throw new ProviderError('the tool choice names no function of the request', {
      failure: 'fatal',
      code: 'invalid_parameter',
    });
  return { form: 'call', ...tool, isLegacy };
};

const formatOf = (format: Json | undefined): RequestedOutput | null => {
  const settings = asObject(format);
  if (settings?.['type'] === 'json_object') return { form: 'json_object' };
  if (settings?.['type'] !== 'json_schema') return null;
  return { form: 'json_schema', schema: asObject(settings['json_schema'])?.['schema'] ?? {} };
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

const asObject = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
