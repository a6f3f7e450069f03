import {
  Conversion,
  Logging,
  LogLevel,
  FilePathSource,
  FilePathTarget,
  Input,
  MovOutputFormat,
  MP4,
  Output,
  QTFF,
} from 'mediabunny';
import { serveCalls } from '../../../kit/threads/serve-calls.ts';
import type { RemuxTask } from '../to-mov.ts';

Logging.level = LogLevel.Silent;

/** Copies every track into a MOV file, packet by packet. Throws when a track cannot be copied. */
const remux = async ({ from, to }: RemuxTask): Promise<void> => {
  const input = new Input({ source: new FilePathSource(from), formats: [MP4, QTFF] });
  try {
    const output = new Output({
      format: new MovOutputFormat({ fastStart: false }),
      target: new FilePathTarget(to),
    });
    const conversion = await Conversion.init({ input, output, showWarnings: false });
    const [lost] = conversion.discardedTracks;
    if (lost !== undefined) throw new Error(`a track cannot be copied: ${lost.reason}`);
    await conversion.execute();
  } finally {
    input.dispose();
  }
};

serveCalls(remux);
