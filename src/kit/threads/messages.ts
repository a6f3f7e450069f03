/** The messages to a thread from the thread that started it. */
export type ToThread<Input> =
  | { calls: readonly ThreadCall<Input>[] }
  /** Nobody waits for this call any more. It is answered all the same. */
  | { abort: number }
  /** The thread answers its calls and ends by itself. */
  | 'close';

export interface ThreadCall<Input> {
  id: number;
  input: Input;
}

/** The messages of a thread: answers to calls, in any order, and news that nobody asked for. */
export type FromThread<Output, Event> = { answers: readonly ThreadAnswer<Output>[] } | { event: Event };

export type ThreadAnswer<Output> = { id: number; output: Output } | { id: number; failure: string };
