import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { SenderTurn } from '../../payments/core/sender-turn.ts';
import { pause } from '../../kit/repeat.ts';
import type { Store } from '../../store/store.ts';

/** A process that died in its turn keeps it no longer than this. */
const turnMs = 5_000;
const pollMs = 40;

/** Turns by the store, for all processes on it. `sender` names the account: CAIP-2 and address. */
export const createSenderTurns =
  (context: {
    store: Pick<Store, 'takeSenderTurn' | 'endSenderTurn'>;
    owner: string;
    clock: Clock;
    log: Log;
  }) =>
  (sender: string): SenderTurn => {
    const { store, owner, clock, log } = context;
    let heldUntil: number | null = null;

    const tryOnce = (): Promise<boolean> => {
      const now = clock.now();
      return store.takeSenderTurn({ sender, owner, until: now + turnMs, now });
    };
    const wait: (options: Parameters<SenderTurn['take']>[0]) => Promise<boolean> = async ({
      signal,
      patienceMs,
    }) => {
      const giveUpAt = performance.now() + patienceMs;
      while (!signal.aborted) {
        if (await tryOnce()) return true;
        if (performance.now() >= giveUpAt) return false;
        await pause(pollMs, signal);
      }
      return false;
    };

    return {
      take: async (options) => {
        const leftMs = heldUntil === null ? 0 : heldUntil - clock.now();
        if (leftMs > turnMs / 2) return { isKept: true };
        const wasHeld = leftMs > 0;
        try {
          const isTaken = await wait(options);
          heldUntil = isTaken ? clock.now() + turnMs : null;
          if (!isTaken) log.warn({ sender }, 'another process keeps its turn to send; going on without it');
          return { isKept: isTaken && wasHeld };
        } catch (error) {
          heldUntil = null;
          log.warn({ err: error, sender }, 'the turn to send could not be taken; going on without it');
          return { isKept: false };
        }
      },
      end: async () => {
        if (heldUntil === null) return;
        heldUntil = null;
        try {
          await store.endSenderTurn({ sender, owner });
        } catch (error) {
          log.warn(
            { err: error, sender },
            'a turn to send could not be ended; others wait until it runs out',
          );
        }
      },
    };
  };
