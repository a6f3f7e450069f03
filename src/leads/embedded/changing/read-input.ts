import type { ImportRequest } from '../../lead-keeper.ts';
import { openSpoolWriter } from '../sorting/spool-writer.ts';
import { withinRoom, type ReadDiskRoom } from './disk-room.ts';
import { clearStaging, spoolFile } from './staging.ts';
import { createYieldToLoop } from './yield-to-loop.ts';

export interface StagedInput {
  rows: number;
  /** The bytes of the spool with the input; later additions come after them. */
  spoolBytes: number;
}

/** Reads the input into the staging folder. Rejects with NoRoomError on a nearly full disk. */
export const readInput = async (
  folder: string,
  { request, readRoom }: { request: ImportRequest; readRoom: ReadDiskRoom },
): Promise<StagedInput> => {
  clearStaging(folder);
  return withinRoom(folder, { signal: request.signal, readRoom }, (signal) =>
    stage(folder, { ...request, signal }),
  );
};

const stage = async (folder: string, { input, signal, onProgress }: ImportRequest): Promise<StagedInput> => {
  const spool = openSpoolWriter(spoolFile(folder), 0);
  let rows = 0;
  const tell = (): void => onProgress?.({ phase: 'reading', done: rows, total: null });
  const yieldToLoop = createYieldToLoop(signal);
  try {
    tell();
    for await (const leads of input.read({ signal })) {
      for (const lead of leads) spool.add(lead);
      rows += leads.length;
      if (await yieldToLoop()) tell();
    }
    spool.flush();
    tell();
  } finally {
    spool.close();
  }
  return { rows, spoolBytes: spool.bytes };
};
