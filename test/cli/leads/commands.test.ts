import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCommandLine, type CommandLine } from '../../../src/cli/run-command-line.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { buildLead } from '../../leads/build-lead.ts';
import { createMemoryKeeper, type MemoryKeeper } from './memory-keeper.ts';
import { temporaryFolder } from '../run-cli.ts';

/** A data folder in which there were profiles before, and the commands on a keeper in memory. */
const openDesk = async (keeper: MemoryKeeper = createMemoryKeeper()) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'leads'));
  const run = async (args: readonly string[], surroundings: Partial<CommandLine> = {}) => {
    const printed = { stdout: '', stderr: '' };
    const exitCode = await runCommandLine({
      args: ['leads', ...args],
      environment: { DATA_DIR: folder },
      write: (text) => (printed.stdout += text),
      writeError: (text) => (printed.stderr += text),
      openKeeper: async () => {
        keeper.opened += 1;
        return keeper;
      },
      ...surroundings,
    });
    return { exitCode, ...printed };
  };
  return {
    folder,
    keeper,
    run,
    /** The document that a command prints. */
    answer: async (...args: string[]) => JSON.parse((await run([...args, '--json'])).stdout),
    /** Writes a file of rows and answers its path. */
    file: async (name: string, rows: readonly unknown[]): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      return path;
    },
  };
};

const people = (...names: string[]): Lead[] =>
  names.map((username, index) => buildLead({ username, followers: 1_000 - index }));

describe('leads import', () => {
  it('tells what came of every row', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann', 'old')));
    await desk.keeper.forget(['gone'], { signal: new AbortController().signal });
    const path = await desk.file('rows.jsonl', [
      ...people('ann', 'bob', 'Bob'),
      { ...buildLead({ username: 'gone' }), country: 'Atlantis' },
      { username: 'cy', followers: '12k' },
      { followers: 1 },
    ]);
    const { import: told } = await desk.answer('import', path, '--max-rejected', '2');
    expect(told).toEqual({
      place: 'embedded',
      mode: 'upsert',
      rows: 4,
      added: 1,
      updated: 1,
      removed: 0,
      repeated: 1,
      forgotten: 1,
      rejected: 2,
      unknown_countries: 1,
      profiles: 3,
      duration_ms: expect.any(Number),
      rows_per_second: told.duration_ms === 0 ? null : expect.any(Number),
      report: `${path}.rejected.csv`,
      first_rejected: [
        { file: path, line: 5, problem: expect.stringMatching(/^followers is "12k"/) },
        { file: path, line: 6, problem: expect.stringMatching(/^username is missing/) },
      ],
      first_unknown_countries: ['"Atlantis"'],
    });
    expect(await readFile(told.report, 'utf8')).toMatch(/^file,line,problem,row\r\n.*,5,.*\r\n.*,6,.*\r\n$/);
    expect(desk.keeper).toMatchObject({ opened: 1, closed: 1 });
  });

  it('tells people the figures on stdout and the rejected rows on stderr', async () => {
    const desk = await openDesk();
    const bad = Array.from({ length: 7 }, (_, index) => ({
      username: `x${index}`,
      followers: `\u001b${index}k`,
    }));
    const lost = { ...buildLead({ username: 'cy' }), country: 'Atlan\u001btis' };
    const path = await desk.file('ro\u001bws.jsonl', [...people('ann', 'bob'), ...bad, lost]);
    const { exitCode, stdout, stderr } = await desk.run(['import', path, '--max-rejected', '100%']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^3 rows imported into the embedded index in \/.*\/leads in \d.* s.*:\n {2}added +3\n/,
    );
    expect(stdout).toMatch(
      /\n {2}rejected +7\n {2}no country +1 {2}their country is not known\n {2}profiles +3 {2}in all, now\n$/,
    );
    expect(stderr.split('\n')).toEqual([
      '7 rows were rejected, among them:',
      ...[3, 4, 5, 6, 7].map((line) => expect.stringMatching(`^  /.*rows\\.jsonl:${line}: followers is `)),
      `All of them, and why: ${path.replace('\u001b', '')}.rejected.csv`,
      'The country of 1 row is not known and was left out: "Atlan\\u{1B}tis".',
      '',
    ]);
  });

  it('reports rejected rows beside no input that only passes through', async () => {
    const desk = await openDesk();
    const handle = await open(await desk.file('rows.jsonl', [...people('ann'), { username: 'a b' }]));
    try {
      const { import: told } = await desk.answer('import', `/dev/fd/${handle.fd}`, '--max-rejected', '1');
      expect(told).toMatchObject({ rejected: 1, report: null });
      const { stderr } = await desk.run(['import', `/proc/self/fd/${handle.fd}`, '--max-rejected', '1']);
      expect(stderr).toMatch(/^1 row was rejected:\n.*username is "a b".*\n$/);
    } finally {
      await handle.close();
    }
  });

  it('names the columns that it does not read, also one without a name', async () => {
    const desk = await openDesk();
    const path = join(desk.folder, 'people.csv');
    await writeFile(
      path,
      'username,full_name,followers,following,verified,business,shoes,\nann,Ann,5,1,0,0,42,\n',
    );
    const { stderr } = await desk.run(['import', path]);
    expect(stderr).toBe(`${path}: nothing is read from the columns shoes, (no name).\n`);
  });

  it('with --replace drops the others, and says how many', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann', 'bob', 'cy')));
    const path = await desk.file('rows.jsonl', people('ann', 'dan'));
    const { import: told } = await desk.answer('import', path, '--replace');
    expect(told).toMatchObject({ mode: 'replace', added: 1, updated: 1, removed: 2, profiles: 2 });
    expect([...desk.keeper.profiles.keys()]).toEqual(['ann', 'dan']);
  });

  it('with --replace heals a damaged index, and refuses to guess what went', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann')));
    desk.keeper.isDamaged = true;
    const path = await desk.file('rows.jsonl', people('bob'));
    const upsert = await desk.answer('import', path);
    expect(upsert.error).toEqual({ code: 'leads_damaged', message: 'The index is damaged.' });
    const { import: told } = await desk.answer('import', path, '--replace');
    expect(told).toMatchObject({ removed: null, profiles: 1 });
  });

  it('changes nothing where too many rows are rejected, or all, and still reports them', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann')));
    const path = await desk.file('rows.jsonl', [...people('bob'), { username: 'a b' }, { username: 'c d' }]);
    const strict = await desk.run(['import', path, '--replace', '--max-rejected', '50%']);
    expect(strict.exitCode).toBe(1);
    expect(strict.stderr).toMatch(/rows\.jsonl:2: username .*\n.*:3: username .*\nAll of them, and why: /);
    expect(strict.stderr).toMatch(
      /causeway: 2 of 3 rows were rejected; the limit is 50%\. Nothing was imported\./,
    );
    const usual = await desk.answer('import', path);
    expect(usual.error).toMatchObject({
      code: 'too_many_rejected',
      message: expect.stringMatching(/; the limit is 1%\. .*: max-rejected 67%\.$/),
    });
    const none = await desk.file('none.jsonl', [{ username: 'a b', followers: 1 }]);
    const refused = await desk.answer('import', none, '--replace');
    expect(refused.error).toEqual({
      code: 'nothing_imported',
      message: 'The one row was rejected. Nothing was changed.',
    });
    expect([...desk.keeper.profiles.keys()]).toEqual(['ann']);
  });

  it('stopped by a signal changes nothing, and tells what was rejected until then', async () => {
    const desk = await openDesk();
    const rows = [...people('ann', 'bob'), { username: 'c d' }];
    const report = join(desk.folder, 'report.csv');
    const args = ['import', await desk.file('rows.jsonl', rows), '--rejected', report, '--max-rejected', '1'];
    desk.keeper.onRead = () => void process.emit('SIGTERM', 'SIGTERM');
    const stopped = await desk.run(args);
    expect(stopped).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^1 row was rejected:\n.*\n.*report\.csv\ncauseway: Stopped\. Nothing was imported\.\n$/,
      ),
    });
    expect(desk.keeper.profiles.size).toBe(0);
    expect(await readFile(report, 'utf8')).toMatch(/^file.*\r\n.*,3,.*\r\n$/);
  });

  it('never writes over a file, and refuses before it reads', async () => {
    const desk = await openDesk();
    const path = await desk.file('rows.jsonl', people('ann'));
    const { error } = await desk.answer('import', path, '--rejected', path);
    expect(error).toEqual({
      code: 'file_exists',
      message: `${path} already exists and was not changed. Name another file.`,
    });
    expect(desk.keeper.profiles.size).toBe(0);
  });

  it('says in one line why it cannot be done', async () => {
    const desk = await openDesk();
    const path = await desk.file('rows.jsonl', people('ann'));
    expect(await desk.answer('import', '/nowhere/rows.jsonl')).toEqual({
      error: {
        code: 'input_failed',
        message: '/nowhere/rows.jsonl cannot be read: the file does not exist.',
      },
    });
    desk.keeper.isBusy = true;
    expect(await desk.run(['import', path])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'causeway: Another import is under way.\n',
    });
    expect(desk.keeper.closed).toBe(2);
  });

  it('warns where the gateway does not search what was imported', async () => {
    const desk = await openDesk();
    const path = await desk.file('rows.jsonl', people('ann'));
    const { stderr } = await desk.run(['import', path, '--env-file', await desk.file('none', [])]);
    expect(stderr).toBe('');
    const settings = join(desk.folder, 'settings');
    await writeFile(settings, 'LEADS_SOURCES=http\n');
    const warned = await desk.run(['import', path, '--env-file', settings]);
    expect(warned).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^LEADS_SOURCES does not name embedded/),
    });
  });
});

describe('leads stats', () => {
  it('tells how many there are, to people and as JSON', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann', 'bob')));
    expect(await desk.answer('stats')).toEqual({
      stats: {
        place: 'embedded',
        generation: 'a generation',
        profiles: 2,
        synthetic: false,
        forgotten: 0,
        bytes: 1_234_567,
        updated_at: '2026-11-21T00:00:00.000Z',
      },
    });
    const { stdout } = await desk.run(['stats']);
    expect(stdout).toMatch(
      /^Profiles in the embedded index in .*:\n {2}profiles +2\n {2}forgotten +0 .*\n {2}size +1\.2 MB\nLast changed 2026-11-21T00:00:00\.000Z \(generation a generation\)\.\n$/,
    );
  });
});

describe('leads export', () => {
  const ann = buildLead({ username: 'ann', followers: 9, bio: '=1+1\n"x"', gender: 'female' });
  const bob = buildLead({ username: 'bob', followers: 10 });

  it('writes JSON Lines that can be imported as they are', async () => {
    const desk = await openDesk(createMemoryKeeper([ann, bob]));
    const { stdout, stderr } = await desk.run(['export']);
    expect(stdout).toBe(`${JSON.stringify(bob)}\n${JSON.stringify(ann)}\n`);
    expect(stderr).toBe('2 profiles.\n');
  });

  it('writes CSV that no spreadsheet runs', async () => {
    const desk = await openDesk(createMemoryKeeper([ann]));
    const { stdout } = await desk.run(['export', '--format', 'csv']);
    expect(stdout).toBe(
      'username,full_name,followers,following,is_verified,is_business,category,bio,public_email,media_count,gender,' +
        'profile_pic_url,country,city\r\n' +
        'ann,Some One,9,10,false,false,,"\'=1+1\n""x""",,,female,,,\r\n',
    );
  });

  it('makes a new private file with --output, and never replaces one', async () => {
    const desk = await openDesk(createMemoryKeeper([ann, bob]));
    const output = join(desk.folder, 'all.jsonl');
    expect(await desk.answer('export', '--output', output)).toEqual({ file: output, profiles: 2 });
    expect((await stat(output)).mode & 0o777).toBe(0o600);
    expect((await readFile(output, 'utf8')).split('\n')).toHaveLength(3);
    const again = await desk.answer('export', '--output', output, '--format', 'csv');
    expect(again.error.code).toBe('file_exists');
    expect(await readdir(desk.folder)).toEqual(['all.jsonl', 'leads']);
  });

  it('has no JSON document of its own for stdout', async () => {
    const desk = await openDesk(createMemoryKeeper([ann]));
    const { error } = await desk.answer('export');
    expect(error).toEqual({
      code: 'invalid_usage',
      message: 'With --json, name a file for the profiles: --output FILE.',
    });
  });

  it('waits for whoever reads, and ends when nobody does', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => buildLead({ username: `person${index}` }));
    const desk = await openDesk(createMemoryKeeper(many));
    let parts = 0;
    let isWriting = false;
    const writePart = async (text: string): Promise<void> => {
      expect(isWriting).toBe(false);
      expect(text.length).toBeLessThan(70_000);
      isWriting = true;
      await new Promise(setImmediate);
      isWriting = false;
      parts += 1;
    };
    const reading = { writePart, isReaderGone: () => parts === 2 };
    expect(await desk.run(['export'], reading)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(parts).toBe(2);
    const { stderr } = await desk.run(['export'], { ...reading, isReaderGone: () => false });
    expect(stderr).toBe('3,000 profiles.\n');
    expect(parts).toBeGreaterThan(6);
  });
});

describe('leads delete and restore', () => {
  it('forget people for good, and let them be imported again', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann', 'bob', 'cy')));
    const path = await desk.file('rows.jsonl', people('ann', 'bob', 'cy'));
    expect(await desk.answer('delete', '@Ann', 'bob', 'nobody')).toEqual({ forgotten: 3, removed: 2 });
    expect((await desk.answer('import', path)).import).toMatchObject({ forgotten: 2, profiles: 1 });
    expect(await desk.answer('restore', 'ann', 'cy')).toEqual({ restored: 1, not_forgotten: 1 });
    expect((await desk.answer('import', path)).import).toMatchObject({ forgotten: 1, profiles: 2 });
  });

  it('tell people what was done, and no name', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann')));
    const stdin = () => Readable.from([Buffer.from('ann\nbob\n')]);
    expect(await desk.run(['delete', '-'], { stdin })).toEqual({
      exitCode: 0,
      stdout: '2 people are forgotten; 1 profile was erased. No import adds them again.\n',
      stderr: '',
    });
    expect((await desk.run(['restore', 'ann', 'cy'])).stdout).toBe(
      '1 person can be imported again. 1 name was not forgotten.\n',
    );
  });

  it('say that nobody was forgotten while an import is under way', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann')));
    desk.keeper.isBusy = true;
    expect((await desk.answer('delete', 'ann')).error).toEqual({
      code: 'leads_busy',
      message: 'Another import is under way. Nobody was forgotten.',
    });
    expect((await desk.answer('stats')).stats).toMatchObject({ profiles: 1, forgotten: 0 });
  });

  it('do nothing when one of the names is none', async () => {
    const desk = await openDesk(createMemoryKeeper(people('ann')));
    const { exitCode, stderr } = await desk.run(['delete', 'ann', 'b c']);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/username is "b c".*Nothing was changed\.\n$/),
    ]);
    expect(desk.keeper.profiles.size).toBe(1);
  });

  it('refuse a folder in which there never was anything', async () => {
    const desk = await openDesk();
    const elsewhere = await temporaryFolder();
    const { error } = await desk.answer('delete', 'ann', '--data-dir', elsewhere);
    expect(error.code).toBe('no_data');
    expect(desk.keeper.opened).toBe(0);
  });
});
