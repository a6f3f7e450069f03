import { appendFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRejectedReport, type RejectedReport } from '../../../src/cli/leads/rejected-report.ts';
import type { RejectedRow } from '../../../src/leads/import/input-options.ts';
import { temporaryFolder } from '../run-cli.ts';

const header = 'file,line,problem,row\r\n';

const rowAt = (line: number, row = `row ${line}`): RejectedRow => ({
  file: 'people.csv',
  line,
  problem: 'followers is missing.',
  row,
});

const lineAt = (line: number): string => `people.csv,${line},followers is missing.,row ${line}\r\n`;

/** A report in a folder of its own, and what it told. */
const openReport = (options: { named?: string; input?: string; maxRows?: number }) => {
  const told: string[] = [];
  const { named = null, input = null, maxRows = 100_000 } = options;
  return { told, report: createRejectedReport({ named, input, maxRows, tell: (line) => told.push(line) }) };
};

const addAll = (report: RejectedReport, ...lines: number[]): void => {
  for (const line of lines) report.add(rowAt(line));
};

describe('the report of rejected rows', () => {
  it('is a new file beside the first input, private, and safe for spreadsheets', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report } = openReport({ input });
    report.begin(null);
    report.add(rowAt(2, '=HYPERLINK("x"),12k\n'));
    const path = report.close({ isOver: true });
    expect(path).toBe(`${input}.rejected.csv`);
    expect(await readFile(path ?? '', 'utf8')).toBe(
      `${header}people.csv,2,followers is missing.,"'=HYPERLINK(""x""),12k\n"\r\n`,
    );
    expect((await stat(path ?? '')).mode & 0o777).toBe(0o600);
  });

  it('leaves the reports of former imports as they are', async () => {
    const folder = await temporaryFolder();
    const input = join(folder, 'people.csv');
    await writeFile(`${input}.rejected.csv`, 'first');
    const { report } = openReport({ input });
    report.begin(null);
    addAll(report, 2);
    expect(report.close({ isOver: true })).toBe(`${input}.rejected-2.csv`);
    expect(await readFile(`${input}.rejected.csv`, 'utf8')).toBe('first');
  });

  it.each(['named', 'input'])('is not there when nothing was rejected (%s)', async (how) => {
    const folder = await temporaryFolder();
    const { report } = openReport({ [how]: join(folder, 'people.csv') });
    report.begin(null);
    report.mark();
    expect(report.close({ isOver: true })).toBeNull();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is made nowhere for standard input, unless it is named', () => {
    const { report, told } = openReport({});
    report.begin(null);
    addAll(report, 2);
    expect([report.mark(), report.close({ isOver: true }), told]).toEqual([null, null, []]);
  });

  it('under a given name never replaces a file', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    await writeFile(named, 'mine');
    const { report } = openReport({ named });
    expect(() => report.begin(null)).toThrow(/report\.csv already exists and was not changed/);
    expect(report.close({ isOver: true })).toBeNull();
    expect(await readFile(named, 'utf8')).toBe('mine');
  });

  it('has its name when the import is over, and not before', async () => {
    const folder = await temporaryFolder();
    const named = join(folder, 'report.csv');
    const first = openReport({ named }).report;
    first.begin(null);
    addAll(first, 2);
    const mark = first.mark();
    expect(first.close({ isOver: false })).toBe(`${named}.part`);
    expect(await readdir(folder)).toEqual(['report.csv.part']);
    const { report } = openReport({ named });
    report.begin(mark);
    expect(report.close({ isOver: true })).toBe(named);
    expect(await readdir(folder)).toEqual(['report.csv']);
    expect(await readFile(named, 'utf8')).toBe(header + lineAt(2));
  });

  it.each([header, '', `${header}people.csv,2,fol`])(
    'under a given name is begun anew over what a killed import left (%j)',
    async (left) => {
      const named = join(await temporaryFolder(), 'report.csv');
      await writeFile(`${named}.part`, left);
      const { report } = openReport({ named });
      report.begin(null);
      addAll(report, 3);
      expect(report.close({ isOver: true })).toBe(named);
      expect(await readFile(named, 'utf8')).toBe(header + lineAt(3));
    },
  );

  it('under a given name leaves a file alone that only is called like an unfinished report', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    await writeFile(`${named}.part`, 'a download of something else altogether');
    const { report } = openReport({ named });
    expect(() => report.begin(null)).toThrow(/report\.csv\.part already exists and was not changed/);
    expect(await readFile(`${named}.part`, 'utf8')).toMatch(/^a download/);
  });

  it('stays where it is when its name was taken meanwhile', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    const { report, told } = openReport({ named });
    report.begin(null);
    addAll(report, 2);
    await writeFile(named, 'mine');
    expect(report.close({ isOver: true })).toBe(`${named}.part`);
    expect(told).toEqual([expect.stringMatching(/cannot be named .*report\.csv \(EEXIST\)/)]);
    expect(await readFile(named, 'utf8')).toBe('mine');
  });

  it('under a given name that cannot be written ends the import before it begins', async () => {
    const { report } = openReport({ named: join(await temporaryFolder(), 'nowhere', 'report.csv') });
    expect(() => report.begin(null)).toThrow(
      /report\.csv cannot be written: its folder does not exist; make it first/,
    );
  });

  it('that was not asked for is done without where it cannot be written', async () => {
    const { report, told } = openReport({ input: join(await temporaryFolder(), 'nowhere', 'people.csv') });
    report.begin(null);
    addAll(report, 2, 3);
    expect(report.close({ isOver: true })).toBeNull();
    expect(told).toEqual([
      expect.stringMatching(/cannot be written: its folder does not exist.*--rejected names another/),
    ]);
  });

  it('is gone on with from its mark, and what came behind it is written again', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const first = openReport({ input }).report;
    first.begin(null);
    addAll(first, 2, 3);
    const mark = first.mark();
    addAll(first, 4, 5, 6);
    first.close({ isOver: false });
    const { report, told } = openReport({ input });
    report.begin(mark);
    addAll(report, 4);
    const path = report.close({ isOver: true });
    expect(await readFile(path ?? '', 'utf8')).toBe(header + [2, 3, 4].map(lineAt).join(''));
    expect([path, told]).toEqual([`${input}.rejected.csv`, []]);
  });

  it('goes on under its given name, also when nothing was in it at the mark', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    const first = openReport({ named }).report;
    first.begin(null);
    const mark = first.mark();
    addAll(first, 2);
    first.close({ isOver: false });
    const { report, told } = openReport({ named });
    report.begin(mark);
    addAll(report, 2);
    expect([report.close({ isOver: true }), told]).toEqual([named, []]);
    expect(await readFile(named, 'utf8')).toBe(header + lineAt(2));
  });

  it('that somebody has changed since is left alone, and a new one is begun', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const first = openReport({ input }).report;
    first.begin(null);
    addAll(first, 2);
    const mark = first.mark();
    const path = first.close({ isOver: false }) ?? '';
    const edited = (await readFile(path, 'utf8')).replace('missing', 'MISSING');
    await writeFile(path, edited);
    await appendFile(path, 'notes');
    const { report, told } = openReport({ input });
    report.begin(mark);
    addAll(report, 3);
    expect(report.close({ isOver: true })).toBe(`${input}.rejected-2.csv`);
    expect(await readFile(path, 'utf8')).toBe(`${edited}notes`);
    expect(told).toEqual([expect.stringContaining('was changed meanwhile')]);
  });

  it('under another name than before has the rows from there on, and says where the others are', async () => {
    const folder = await temporaryFolder();
    const first = openReport({ named: join(folder, 'a.csv') }).report;
    first.begin(null);
    addAll(first, 2);
    const mark = first.mark();
    first.close({ isOver: false });
    const { report, told } = openReport({ named: join(folder, 'b.csv') });
    report.begin(mark);
    addAll(report, 3);
    report.close({ isOver: true });
    expect(await readFile(join(folder, 'a.csv.part'), 'utf8')).toBe(header + lineAt(2));
    expect(await readFile(join(folder, 'b.csv'), 'utf8')).toBe(header + lineAt(3));
    expect(told).toEqual([expect.stringContaining('a.csv.part has the rows that were rejected before')]);
  });

  it('that is a folder by now is no reason to fail', async () => {
    const folder = await temporaryFolder();
    const input = join(folder, 'people.csv');
    await mkdir(`${input}.rejected.csv.part`);
    const { report, told } = openReport({ input });
    report.begin({ path: `${input}.rejected.csv`, bytes: 10, crc: 1, rows: 1 });
    addAll(report, 2);
    report.close({ isOver: true });
    expect(told).toEqual([expect.stringMatching(/cannot be written: it is a folder/)]);
  });

  it('ends somewhere, and says so once', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report, told } = openReport({ input, maxRows: 2 });
    report.begin(null);
    addAll(report, 2, 3, 4, 5);
    expect(await readFile(report.close({ isOver: true }) ?? '', 'utf8')).toBe(
      header + [2, 3].map(lineAt).join(''),
    );
    expect(told).toEqual(['The report ends after 2 rows; more are only counted.']);
  });

  it('keeps rows whole, however many there are', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report } = openReport({ input });
    report.begin(null);
    const lines = Array.from({ length: 5_000 }, (_, index) => index + 2);
    addAll(report, ...lines);
    expect(await readFile(report.close({ isOver: true }) ?? '', 'utf8')).toBe(
      header + lines.map(lineAt).join(''),
    );
  });
});
