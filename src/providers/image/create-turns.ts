import { OutboundError } from '../../http/outbound.ts';
import { createSlots, type Slots, type TakeOptions } from '../../http/slots.ts';

/** There are more tasks waiting than may, of all or of one holder. */
export class TooManyWaitingError extends Error {
  override readonly name = 'TooManyWaitingError';

  constructor() {
    super('too many tasks are waiting for their turn');
  }
}

export interface TurnsOptions {
  atOnce: number;
  /** How many tasks may wait; one more is refused. */
  queueLimit: number;
}

/**
 * Runs `work` when its turn comes: first come, first served, a fixed number at once, and of both the turns and the queue
 * no account has more than a share. Rejects with TooManyWaitingError, with the signal's reason while it waits, and with
 * what `work` throws.
 */
export type Turns = <Result>(work: () => Promise<Result>, options: TakeOptions) => Promise<Result>;

export const createTurns = ({ atOnce, queueLimit }: TurnsOptions): Turns => {
  const slots = createSlots({ atOnce, waiting: queueLimit });
  return async (work, options) => {
    const release = await takeSlot(slots, options);
    try {
      return await work();
    } finally {
      release();
    }
  };
};

const takeSlot = async (slots: Slots, options: TakeOptions): Promise<() => void> => {
  try {
    return await slots.take(options);
  } catch (error) {
    throw error instanceof OutboundError ? new TooManyWaitingError() : error;
  }
};
