import type { JsonObject } from '../../kit/json.ts';
import type { TextMessage } from '../text/text-provider.ts';

/** The part of a conversation that the sandbox answers. */
export interface Conversation {
  messageCount: number;
  /** The text of the last user message; empty when there is none. */
  question: string;
  /** Pictures and sounds in the last user message. */
  mediaCount: number;
  /** The tool result at the end of the conversation; null when there is none. */
  toolResult: { name: string | null; text: string } | null;
}

export const readConversation = (messages: readonly TextMessage[]): Conversation => {
  const asked = messages.findLast((message) => message.role === 'user');
  const last = messages.at(-1);
  const isToolResult = last?.role === 'tool' || last?.role === 'function';
  return {
    messageCount: messages.length,
    question: textOf(asked),
    mediaCount:
      asked === undefined ? 0 : partsOf(asked).filter((part) => typeof part['text'] !== 'string').length,
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
  const name =
    called !== null && typeof called === 'object' && !Array.isArray(called) ? called['name'] : null;
  return typeof name === 'string' ? name : null;
};
