import { constants, statSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { cardSecretNames } from '../payments/cards/card-settings.ts';
import { x402SecretNames } from '../payments/x402-settings.ts';

const secretNames = [...x402SecretNames, ...cardSecretNames];

type Environment = Record<string, string | undefined>;

const keyFile = (name: string) => z.string().optional().describe(`private file with \`${name}\``);

/** The variables that name files with secrets. `readKeyFiles` takes them out before other settings are read. */
export const keyFileVariables: Record<
  `${string}_KEY_FILE` | `${string}_SECRET_FILE`,
  z.ZodOptional<z.ZodString>
> = Object.fromEntries(secretNames.map((name) => [`${name}_FILE`, keyFile(name)]));

/** Keys and PEM files are far shorter. */
const maxBytes = 4_096;
/** Rights of the group and of everybody. */
const othersMask = 0o077;

/** Why a secret must not stand in the file: others could have read or written it. Null: nothing is wrong. */
const exposureOf = (stat: Stats): string | null => {
  // Windows has neither owners nor modes.
  if (process.getuid === undefined) return null;
  if (stat.uid !== process.getuid()) return 'belongs to another user';
  return (stat.mode & othersMask) === 0
    ? null
    : `may be used by others (mode ${(stat.mode & 0o777).toString(8)}); make it 600`;
};

/** Throws ConfigError for a file that others could have read or written, or that holds no one secret. */
const assertPrivate = async (file: FileHandle, refuse: (problem: string) => ConfigError): Promise<void> => {
  const stat = await file.stat();
  if (!stat.isFile()) throw refuse('is no regular file');
  const exposure = exposureOf(stat);
  if (exposure !== null) throw refuse(exposure);
  if (stat.size > maxBytes) throw refuse(`is longer than ${maxBytes} bytes`);
};

/** Throws ConfigError when a file of settings holds the key of a wallet and is not this user's alone. */
export const assertEnvFilePrivate = (path: string, text: string): void => {
  const settings = parseEnv(text);
  const secret = secretNames.find((name) => (settings[name] ?? '') !== '');
  const exposure = secret === undefined ? null : exposureOf(statSync(path));
  if (exposure !== null) throw new ConfigError(`--env-file: ${path} holds ${secret} and ${exposure}`);
};

const readSecret = async (name: string, path: string): Promise<string> => {
  const refuse = (problem: string, cause?: unknown): ConfigError =>
    new ConfigError(`${name}: ${path} ${problem}`, { cause });
  // Links are followed, and the opened file itself is checked. Opening a pipe must not wait for its writer.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw refuse('cannot be read', error);
  });
  await assertPrivate(file, refuse);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
  const secret = buffer.toString('utf8', 0, bytesRead).trim();
  if (secret === '') throw refuse('is empty');
  return secret;
};

/**
 * The environment with the secrets that stand in files, in place of the NAME_FILE that named them. Empty variables count
 * as unset. Throws ConfigError with one line that names the setting, and never with any of a file's content.
 */
export const readKeyFiles = async (env: Environment): Promise<Environment> => {
  const filled = { ...env };
  for (const name of secretNames) {
    const fileName = `${name}_FILE`;
    const path = env[fileName];
    delete filled[fileName];
    if (path === undefined || path === '') continue;
    if (env[name] !== undefined && env[name] !== '')
      throw new ConfigError(`${fileName}: cannot be set beside ${name}`);
    filled[name] = await readSecret(fileName, path);
  }
  return filled;
};
