import { pino, type Logger } from 'pino';
import { createLogOutput, type LogOutput } from './log-output.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

/** The process's log: JSON lines on stderr, so that stdout stays free for stdio MCP and command output. */
export const createLog = (level: string, output: LogOutput = createLogOutput()): Log =>
  pino(
    {
      level,
      base: undefined,
      redact: {
        paths: ['*.apiKey', '*.privateKey', '*.authorization', 'apiKey', 'privateKey', 'authorization'],
      },
    },
    output,
  );

/** A log that says nothing, for tests and for commands. */
export const silentLog: Log = pino({ level: 'silent' });
