import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const importPattern = /^(?:import|export) (?:[^'"`;]* from )?'([^']+)'|\bimport\('([^']+)'\)/gm;

/** The packages that a file and all files it imports need. */
const listPackages = async (file: URL, seen = new Set<string>()): Promise<Set<string>> => {
  const packages = new Set<string>();
  if (seen.has(file.href) || !file.pathname.endsWith('.ts')) return packages;
  seen.add(file.href);
  for (const [, named, loaded] of (await readFile(file, 'utf8')).matchAll(importPattern)) {
    const name = named ?? loaded ?? '';
    if (name.startsWith('.'))
      for (const found of await listPackages(new URL(name, file), seen)) packages.add(found);
    else if (!isBuiltin(name)) packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
  }
  return packages;
};

describe('what npm install --omit=dev brings', () => {
  it.each(['pay', 'contract'])('is enough for npm run %s', async (script) => {
    const packages = await listPackages(new URL(`../../scripts/${script}.ts`, import.meta.url));
    // Signing in with a wallet needs a whole install (docs/wallets.md).
    const missing = [...packages].filter(
      (name) => !(name in manifest.dependencies) && name !== '@x402/extensions',
    );
    expect(missing).toEqual([]);
  });

  it('is told from what it does not bring', async () => {
    const packages = await listPackages(new URL('../chains/chains-script.slow.test.ts', import.meta.url));
    expect([...packages]).toContain('vitest');
  });
});
