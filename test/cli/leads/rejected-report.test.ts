import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
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

const addAll = (report: RejectedReport, ...lines: number[]): void =>
  report.add(lines.map((line) => rowAt(line)));

describe('the report of rejected rows', () => {
  it('is a new file beside the first input, private, and safe for spreadsheets', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report } = openReport({ input });
    report.add([rowAt(2, '=HYPERLINK("x"),12k\n')]);
    const path = report.close();
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
    addAll(report, 2);
    expect(report.close()).toBe(`${input}.rejected-2.csv`);
    expect(await readFile(`${input}.rejected.csv`, 'utf8')).toBe('first');
  });

  it.each(['named', 'input'])('is not there when nothing was rejected (%s)', async (how) => {
    const folder = await temporaryFolder();
    const { report } = openReport({ [how]: join(folder, 'people.csv') });
    expect(report.close()).toBeNull();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is made nowhere for standard input, unless it is named', () => {
    const { report, told } = openReport({});
    addAll(report, 2);
    expect([report.close(), told]).toEqual([null, []]);
  });

  it('under a given name never replaces a file', async () => {
    const named = join(await temporaryFolder(), 'report.csv');
    await writeFile(named, 'mine');
    expect(() => openReport({ named })).toThrow(/report\.csv already exists and was not changed/);
    expect(await readFile(named, 'utf8')).toBe('mine');
  });

  it('under a given name that cannot be written ends the import before it begins', async () => {
    const named = join(await temporaryFolder(), 'nowhere', 'report.csv');
    expect(() => openReport({ named })).toThrow(
      /report\.csv cannot be written: its folder does not exist; make it first/,
    );
  });

  it('that was not asked for is done without where it cannot be written', async () => {
    const { report, told } = openReport({ input: join(await temporaryFolder(), 'nowhere', 'people.csv') });
    addAll(report, 2, 3);
    addAll(report, 4);
    expect(report.close()).toBeNull();
    expect(told).toEqual([
      expect.stringMatching(/cannot be written: its folder does not exist.*--rejected names another/),
    ]);
  });

  it('ends somewhere, and says so once', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report, told } = openReport({ input, maxRows: 2 });
    addAll(report, 2);
    addAll(report, 3, 4);
    addAll(report, 5);
    expect(await readFile(report.close() ?? '', 'utf8')).toBe(header + [2, 3].map(lineAt).join(''));
    expect(told).toEqual(['The report ends after 2 rows; more are only counted.']);
  });

  it('keeps rows whole, however many there are', async () => {
    const input = join(await temporaryFolder(), 'people.csv');
    const { report } = openReport({ input });
    const lines = Array.from({ length: 5_000 }, (_, index) => index + 2);
    for (let from = 0; from < lines.length; from += 700) addAll(report, ...lines.slice(from, from + 700));
    expect(await readFile(report.close() ?? '', 'utf8')).toBe(header + lines.map(lineAt).join(''));
  });
});
