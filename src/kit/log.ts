import { pino, type Logger } from 'pino';
import { createLogOutput, type LogOutput } from './log-output.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'child'>;

/** Creates the process's log: JSON lines on stderr. Stdout is for MCP over stdio and for the output of commands. */
export const createLog = (
  level: string,
  output: LogOutput = createLogOutput(),
  /** Returns further fields for each line. */
  fields?: () => object,
): Log =>
  pino(
    {
      level,
      base: undefined,
      ...(fields === undefined ? {} : { mixin: fields }),
      redact: {
        paths: ['*.apiKey', '*.privateKey', '*.authorization', 'apiKey', 'privateKey', 'authorization'],
      },
    },
    output,
  );

/** A log without output, for tests and commands. */
export const silentLog: Log = pino({ level: 'silent' });
