import { pino } from 'pino';
import type { Log } from '../../src/kit/log.ts';

/** A real log whose lines are kept, as objects. */
export const createRecordedLog = (): { log: Log; lines: unknown[] } => {
  const lines: unknown[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
};
