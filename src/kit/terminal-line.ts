import { isatty } from 'node:tty';
import { styleText } from 'node:util';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { sanitizeLine } from './text.ts';

type LogLine = JsonObject & {
  level: number;
  /** In milliseconds since 1970. */
  time: number;
  msg?: string;
};

type Format = Parameters<typeof styleText>[0];

/** The numbers are pino's. */
const levels = new Map<number, { name: string; format: Format }>([
  [20, { name: 'debug', format: 'gray' }],
  [30, { name: 'info ', format: 'green' }],
  [40, { name: 'warn ', format: 'yellow' }],
  [50, { name: 'error', format: 'red' }],
]);

const warn = 40;
const maxValueLength = 200;
/** Fields that only help to find a line among many. */
const hiddenBelowWarn: ReadonlySet<string> = new Set(['requestId', 'trace_id', 'span_id']);

/**
 * Returns a function that turns a JSON line of the log into a line for people; undefined if standard error is no
 * terminal. NO_COLOR, FORCE_COLOR and TERM say whether it is coloured.
 */
export const createTerminalLine = (): ((line: string) => string) | undefined => {
  if (!isatty(2)) return undefined;
  const hasColors = process.stderr.hasColors();
  return (line) => toTerminalLine(line, hasColors);
};

/** Shows the local time, the level, the message and the fields of a JSON line. The stack of an error, if any, follows. */
export const toTerminalLine = (line: string, hasColors: boolean): string => {
  const paint = (format: Format, text: string): string =>
    hasColors ? styleText(format, text, { validateStream: false }) : text;
  const { level, time, msg = '', err, ...fields } = JSON.parse(line) as LogLine;
  const { name, format } = levels.get(level) ?? { name: `${level}`, format: 'gray' };
  const { message, stack } = isJsonObject(err) ? err : { message: err, stack: null };
  const isMinor = level < warn;
  const shown = Object.entries({ ...fields, error: message ?? null }).flatMap(([field, value]) =>
    value === null || (isMinor && hiddenBelowWarn.has(field))
      ? []
      : [`${paint('gray', `${sanitizeLine(field)}=`)}${toShown(value)}`],
  );
  const clock = paint('gray', new Date(time).toTimeString().slice(0, 8));
  const first = [clock, paint(format, name), sanitizeLine(msg), ...shown].join(' ');
  const below =
    typeof stack === 'string'
      ? stack.split('\n').map((text) => paint('gray', `  ${sanitizeLine(text)}`))
      : [];
  return `${[first, ...below].join('\n')}\n`;
};

const toShown = (value: Json): string => {
  const isPlain = typeof value === 'string' && /^[^\s"=]+$/.test(value);
  const text = sanitizeLine(isPlain ? value : JSON.stringify(value));
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
};
