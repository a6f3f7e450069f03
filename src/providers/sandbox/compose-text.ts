import type { Conversation } from './conversation.ts';

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
    conversation.toolResult === null ? questionText(conversation) : toolResultText(conversation.toolResult),
    ...(conversation.mediaCount > 0
      ? [`The message came with ${amount(conversation.mediaCount, 'attachment')}.`]
      : []),
    ...(conversation.messageCount > 1 ? [`The conversation has ${conversation.messageCount} messages.`] : []),
    ...(offeredTools.length > 0 && conversation.toolResult === null ? [toolsText(offeredTools)] : []),
  ].join('\n\n');

const questionText = ({ question }: Conversation): string => {
  if (question.trim() === '') return 'The request has no text of a user to answer.';
  return `You asked, in ${countWords(question)}: "${excerpt(question, maxQuoteLength)}"`;
};

const toolResultText = ({ name, text }: { name: string | null; text: string }): string =>
  `${name === null ? 'The tool' : `The tool ${name}`} answered: ${excerpt(text, maxToolResultLength)}`;

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
