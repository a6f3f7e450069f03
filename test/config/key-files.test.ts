import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../src/kit/errors.ts';
import { readConfig } from '../../src/config/config.ts';
import { assertEnvFilePrivate, readKeyFiles } from '../../src/config/key-files.ts';

const secret = `0x${'5e'.repeat(32)}`;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (text: string, mode = 0o600): Promise<string> => {
  const path = join(folder, 'key');
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
};

const problemOf = async (environment: Record<string, string>): Promise<string> => {
  const error: unknown = await readKeyFiles(environment).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(ConfigError);
  return error instanceof Error ? error.message : '';
};

describe('a secret in a file', () => {
  it.each([
    'X402_EVM_FACILITATOR_KEY',
    'X402_SOLANA_FACILITATOR_KEY',
    'X402_EVM_REFUND_KEY',
    'X402_SOLANA_REFUND_KEY',
    'X402_CDP_API_KEY_SECRET',
  ])('stands for %s, without the space around it', async (name) => {
    const path = await write(`\n ${secret}\r\n`);
    expect(await readKeyFiles({ [`${name}_FILE`]: path, PORT: '1' })).toEqual({ [name]: secret, PORT: '1' });
  });

  it('may be reached through a link, as orchestrators hand out secrets', async () => {
    const link = join(folder, 'link');
    await symlink(await write(secret), link);
    expect(await readKeyFiles({ X402_EVM_REFUND_KEY_FILE: link })).toEqual({ X402_EVM_REFUND_KEY: secret });
  });

  it('may have several lines, as PEM has', async () => {
    const pem = '-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----';
    expect(await readKeyFiles({ X402_CDP_API_KEY_SECRET_FILE: await write(`${pem}\n`) })).toEqual({
      X402_CDP_API_KEY_SECRET: pem,
    });
  });

  it('is not looked for when no file is named, or an empty name', async () => {
    expect(await readKeyFiles({ X402_EVM_REFUND_KEY_FILE: '', X402_EVM_REFUND_KEY: secret })).toEqual({
      X402_EVM_REFUND_KEY: secret,
    });
  });

  it('cannot be set beside the variable itself', async () => {
    const path = await write(secret);
    expect(await problemOf({ X402_EVM_FACILITATOR_KEY_FILE: path, X402_EVM_FACILITATOR_KEY: secret })).toBe(
      'X402_EVM_FACILITATOR_KEY_FILE: cannot be set beside X402_EVM_FACILITATOR_KEY',
    );
  });

  it.each([0o640, 0o604, 0o620, 0o602, 0o644])('is refused when others may use it (%o)', async (mode) => {
    const path = await write(secret, mode);
    const problem = await problemOf({ X402_EVM_FACILITATOR_KEY_FILE: path });
    expect(problem).toMatch(
      /^X402_EVM_FACILITATOR_KEY_FILE: .* may be used by others \(mode 6\d\d\); make it 600$/,
    );
    const link = join(folder, 'link');
    await symlink(path, link);
    expect(await problemOf({ X402_EVM_FACILITATOR_KEY_FILE: link })).toContain('may be used by others');
  });

  it('is refused when it belongs to another user', async () => {
    const path = await write(secret);
    const getuid = vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1);
    try {
      expect(await problemOf({ X402_EVM_FACILITATOR_KEY_FILE: path })).toContain('belongs to another user');
    } finally {
      getuid.mockRestore();
    }
  });

  it.each([
    ['is not there', () => Promise.resolve(join(folder, 'nowhere')), 'cannot be read'],
    ['is a folder', () => Promise.resolve(folder), 'is no regular file'],
    ['is empty', () => write(' \n'), 'is empty'],
    ['is long', () => write('x'.repeat(4_097)), 'is longer than 4096 bytes'],
  ] as const)('is refused when it %s', async (_what, make, problem) => {
    const path = await make();
    expect(await problemOf({ X402_SOLANA_REFUND_KEY_FILE: path })).toBe(
      `X402_SOLANA_REFUND_KEY_FILE: ${path} ${problem}`,
    );
  });

  it('is refused when it is a pipe, without waiting for somebody to write', async () => {
    const path = join(folder, 'pipe');
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    expect(await problemOf({ X402_EVM_REFUND_KEY_FILE: path })).toContain('is no regular file');
  });

  it('is not in the words about a secret that is wrong', async () => {
    const wrong = `${secret}ff`;
    const environment = await readKeyFiles({ X402_EVM_REFUND_KEY_FILE: await write(wrong) });
    expect(() => readConfig(environment, null)).toThrow(
      /^X402_EVM_REFUND_KEY: must be 0x and 64 hex digits$/,
    );
  });
});

describe('a file of settings', () => {
  it.runIf(process.getuid !== undefined)(
    'that holds the key of a wallet is this user’s alone, or refused',
    async () => {
      const text = `PORT=1\nX402_EVM_FACILITATOR_KEY=0x${'1'.repeat(64)}\n`;
      const open = await write(text, 0o644);
      expect(() => assertEnvFilePrivate(open, text)).toThrow(
        new ConfigError(
          `--env-file: ${open} holds X402_EVM_FACILITATOR_KEY and may be used by others (mode 644); make it 600`,
        ),
      );
      const own = await write(text);
      expect(() => assertEnvFilePrivate(own, text)).not.toThrow();
    },
  );

  it('that holds no key may be read by everybody', async () => {
    const text = 'PORT=1\nX402_EVM_FACILITATOR_KEY=\n';
    const open = await write(text, 0o644);
    expect(() => assertEnvFilePrivate(open, text)).not.toThrow();
  });
});
