import type OpenAI from 'openai';
import type { JsonObject } from '../../kit/json.ts';

type WithoutNumber<Event> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

/** An event of a response's output, before it is numbered. */
export type ResponseEvent = WithoutNumber<OpenAI.Responses.ResponseStreamEvent>;

export type OutputItem =
  | OpenAI.Responses.ResponseOutputMessage
  | FunctionCallItem
  | OpenAI.Responses.ResponseReasoningItem;

/** `extra_content` is beyond OpenAI's type: some upstreams require it back with the call in the next turn. */
export type FunctionCallItem = OpenAI.Responses.ResponseFunctionToolCall & { extra_content?: JsonObject };

/** How an item ended. */
export type ItemEnd = 'completed' | 'incomplete';

/** An output item that is being written. */
export interface OpenItem {
  readonly outputIndex: number;
  /** The item as it begins. */
  readonly first: OutputItem;
  close(end: ItemEnd): { events: ResponseEvent[]; item: OutputItem };
}
