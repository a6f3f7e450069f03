import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { toIndexError } from '../../../src/leads/sqlite/to-index-error.ts';

it.each([
  { error: { code: 'ENOSPC' }, says: /^There is not enough free space on the disk of \/.*: .* MB are free/ },
  { error: { errcode: 13 }, says: /^There is not enough free space on the disk of \// },
  { error: { code: 'EDQUOT' }, says: /^The disk quota of this user is used up \(\// },
  {
    error: { code: 'EFBIG' },
    says: /^The limit on file sizes is too small for .* \(ulimit -f\)\. Nothing is lost\. Raise that limit/,
  },
  { error: { code: 'EACCES' }, says: /cannot be used: the user \S+ may not read and write all of it; run/ },
  { error: { errcode: 8 }, says: /cannot be used: the user \S+ may not read and write/ },
  { error: { errcode: 8 + 6 * 256 }, says: /cannot be used: the user \S+ may not read and write/ },
  { error: { code: 'EROFS' }, says: /cannot be used: the disk is read-only\.$/ },
  { error: { code: 'EIO' }, says: /^The profiles could not be changed \(it went wrong\)/ },
  // A file in the folder, which is there.
  { error: { code: 'ENOENT' }, says: /^The profiles could not be changed \(it went wrong\)/ },
])('reports $says for $error', async ({ error, says }) => {
  const folder = await mkdtemp(join(tmpdir(), 'leads-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const cause = Object.assign(new Error('it went wrong'), error);
  expect(toIndexError(cause, folder)).toMatchObject({
    problem: 'failed',
    message: expect.stringMatching(says),
    cause,
  });
});

it('suggests a read-only disk for a folder that cannot be created', () => {
  const cause = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  expect(toIndexError(cause, '/nowhere/leads').message).toBe(
    '/nowhere/leads cannot be used: it does not exist and cannot be created; the disk may be read-only.',
  );
});
