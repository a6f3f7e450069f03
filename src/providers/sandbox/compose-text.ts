import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import type { TextMessage } from '../text/text-provider.ts';

/** The part of a conversation that the sandbox answers. */
export type Conversation = ReturnType<typeof readConversation>;

export const readConversation = (messages: readonly TextMessage[]) => {
  const asked = messages.findLast((message) => message.role === 'user');
  const last = messages.at(-1);
  const isToolResult = last?.role === 'tool' || last?.role === 'function';
  return {
    messageCount: messages.length,
    /** The text of the last user message; empty when there is none. */
    question: textOf(asked),
    /** Pictures and sounds in it. */
    mediaCount:
      asked === undefined ? 0 : partsOf(asked).filter((part) => typeof part['text'] !== 'string').length,
    /** The tool result at the end; null when there is none. */
    toolResult: isToolResult ? { name: last.name ?? calledName(messages, last), text: textOf(last) } : null,
  };
};

const partsOf = ({ content }: TextMessage): JsonObject[] => (Array.isArray(content) ? content : []);

const textOf = (message: TextMessage | undefined): string => {
  if (message === undefined) return '';
  if (typeof message.content === 'string') return message.content;
  return partsOf(message)
    .map((part) => part['text'])
    .filter((text) => typeof text === 'string')
    .join('\n');
};

/** Finds the name of the tool whose call a result answers. */
const calledName = (messages: readonly TextMessage[], result: TextMessage): string | null => {
  const calls = messages.findLast((message) => message.tool_calls !== undefined)?.tool_calls ?? [];
  const { function: called } = calls.find((call) => call['id'] === result.tool_call_id) ?? {};
  const name = isJsonObject(called) ? called['name'] : null;
  return typeof name === 'string' ? name : null;
};

/** The first line of every answer in words. */
export const sandboxNotice = 'This is a sandbox answer: no language model is behind it.';

const maxQuoteLength = 240;
const maxToolResultLength = 1_000;
/** Words are counted in this many UTF-16 units. Counting more would block the event loop. */
const countedLength = 65_536;

/** Composes the sandbox's answer in words. It repeats the request, so that a caller can check both directions. */
export const composeText = (conversation: Conversation, offeredTools: readonly string[]): string =>
  [
    sandboxNotice,
    firstText(conversation),
    ...(conversation.mediaCount > 0
      ? [`The message came with ${amount(conversation.mediaCount, 'attachment')}.`]
      : []),
    ...(conversation.messageCount > 1 ? [`The conversation has ${conversation.messageCount} messages.`] : []),
    ...(offeredTools.length > 0 && conversation.toolResult === null ? [toolsText(offeredTools)] : []),
  ].join('\n\n');

const firstText = ({ toolResult, question }: Conversation): string => {
  if (toolResult !== null) {
    const { name, text } = toolResult;
    return `${name === null ? 'The tool' : `The tool ${name}`} answered: ${excerpt(text, maxToolResultLength)}`;
  }
  if (question.trim() === '') return 'The request has no text of a user to answer.';
  return `You asked, in ${countWords(question)}: "${excerpt(question, maxQuoteLength)}"`;
};

const toolsText = (names: readonly string[]): string =>
  `${amount(names.length, 'tool')} could be called (${names.slice(0, 5).join(', ')}${names.length > 5 ? ', ...' : ''}). ` +
  'Set tool_choice to "required" to have the sandbox call the first.';

/** Returns the number of words as text: "12 words", or "more than 900 words" when the text is too long to count. */
export const countWords = (text: string): string => {
  const words = text.slice(0, countedLength).match(/\S+/g)?.length ?? 0;
  return `${text.length > countedLength ? 'more than ' : ''}${amount(words, 'word')}`;
};

/** Puts a text on one line and cuts it at `length` UTF-16 units. */
export const excerpt = (text: string, length: number): string => {
  const line = text
    .slice(0, length * 2)
    .trim()
    .replace(/\s+/g, ' ');
  const isWhole = text.length <= length * 2 && line.length <= length;
  return isWhole ? line : `${line.slice(0, length).toWellFormed().trimEnd()}...`;
};

const amount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
