import { Readable } from 'node:stream';
import { systemClock } from '../../kit/clock.ts';
import type { LeadPlace } from './place.ts';
import type { LeadSession, LeadSurroundings } from './session.ts';
import { leadTools } from './tools.ts';

interface Opening extends LeadSurroundings {
  place: LeadPlace;
  showsProgress: boolean;
}

/** Opens what keeps the profiles of the place, uses it and closes it. */
export const withLeadKeeper = async (
  opening: Opening,
  use: (session: Omit<LeadSession, 'tell' | 'writePart'>) => Promise<void>,
): Promise<void> => {
  const { place, showsProgress, writeError, isErrorTerminal = false } = opening;
  const { openKeeper, openInput, countForgotten } = opening.leadTools ?? leadTools;
  const keeper = await openKeeper(place);
  try {
    await use({
      keeper,
      place,
      clock: systemClock,
      openInput,
      countForgotten,
      progressOutput: showsProgress ? { isTerminal: isErrorTerminal, write: writeError } : null,
      stdin: opening.stdin ?? (() => Readable.from([])),
      isReaderGone: opening.isReaderGone ?? (() => false),
    });
  } finally {
    await keeper.close();
  }
};
