import { useEffect, useRef, useState } from 'preact/hooks';
import { useConfirmed } from '../parts/confirm.tsx';
import { toFact } from '../parts/history.tsx';
import { Choice, Facts, Field, readFields, Shown, Title } from '../parts/parts.tsx';
import { Table } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { useConsole, useLoad } from '../use-console.ts';

type Rejected = Readonly<{ line: number; problem: string }>;

interface Imported extends Readonly<Record<string, unknown>> {
  first_rejected: readonly Rejected[];
  first_unknown_countries: readonly string[];
}

const counts = 'rows added updated removed repeated forgotten rejected unknown_countries'.split(' ');

const Result = ({ imported }: { imported: Imported }) => (
  <section role="status">
    <h2>Imported</h2>
    <Facts facts={counts.map((name) => toFact([name, imported[name]]))} />
    {imported.first_unknown_countries.length > 0 && (
      <p>Imported without their country, which is not known: {imported.first_unknown_countries.join(', ')}</p>
    )}
    {imported.first_rejected.length > 0 && (
      <Table<Rejected>
        name="Rejected rows"
        rows={imported.first_rejected}
        columns={[
          { title: 'Left out: line', cell: ({ line }) => line },
          { title: 'Problem', cell: ({ problem }) => problem },
        ]}
        keyOf={({ line }) => String(line)}
        none=""
      />
    )}
  </section>
);

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

interface Sending {
  file: File;
  sent: number;
}

const Progress = ({ sending: { file, sent }, onStop }: { sending: Sending; onStop(): void }) => (
  <div class="ask">
    <progress aria-label={`Sent of ${file.name}`} max={file.size} value={sent} />
    {sent < file.size ? (
      <div class="row">
        <span>
          {megabytes(sent)} of {megabytes(file.size)}. Leave this page open.
        </span>
        <button type="button" onClick={onStop}>
          Stop
        </button>
      </div>
    ) : (
      <span role="status">The whole file has arrived. The last profiles are being stored…</span>
    )}
  </div>
);

/** Fields that most files do not need. Those of files without a header are left to the command line. */
const Options = () => (
  <details>
    <summary>Columns, missing values and limits</summary>
    <div class="ask">
      <label class="field">
        <span>Columns with other names, one a line</span>
        <textarea name="column" rows={3} placeholder="followers=fans" />
      </label>
      <label class="field">
        <span>Values for missing fields, one a line</span>
        <textarea name="default" rows={3} placeholder="following=0" />
      </label>
      <Field name="max_rejected" label="Max rejected: import nothing if more rows are wrong" hint="1%" />
    </div>
  </details>
);

/** Writes a query in which each line of a field is a value. */
const toImportQuery = (given: Readonly<Record<string, string>>): string => {
  const lines = Object.entries(given).flatMap(([name, text]) =>
    text.split('\n').map((line) => [name, line.trim()]),
  );
  return new URLSearchParams(lines.filter(([, line]) => line !== '')).toString();
};

/** Sends a file of profiles while it is read, so it may be larger than the memory. */
const Import = ({ onDone }: { onDone(): void }) => {
  const { api } = useConsole();
  const { isBusy, run, ask, dialog } = useConfirmed();
  const [sending, setSending] = useState<Sending | null>(null);
  const [imported, setImported] = useState<Imported | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const send = async (file: File, query: string): Promise<void> => {
    setImported(null);
    stop.current = new AbortController();
    const { signal } = stop.current;
    setSending({ file, sent: 0 });
    try {
      const answer = await api.upload<{ import: Imported }>(`admin/v1/leads/import?${query}`, file, {
        signal,
        onSent: (sent) => setSending({ file, sent }),
      });
      setImported(answer.import);
      onDone();
    } finally {
      setSending(null);
    }
  };
  const begin = (event: SubmitEvent): void => {
    const { file: _, ...given } = readFields(event);
    const file = new FormData(event.currentTarget as HTMLFormElement).get('file') as File;
    const act = () => send(file, toImportQuery(given));
    if (given['replace'] === '') return void run(act);
    const question = `Import ${file.name} (${megabytes(file.size)})? Profiles that ${file.name} does not name are dropped for good.`;
    ask({ question, yes: 'Replace all profiles', act });
  };
  return (
    <section>
      <h2>Import</h2>
      <p class="soft">
        Searches find the profiles once the whole file has arrived, which may take five minutes. The command{' '}
        <code>leads import</code> takes larger files, and Parquet.
      </p>
      <form class="ask" onSubmit={begin}>
        <label class="field">
          <span>File: CSV or JSON Lines, also compressed with gzip or zstd</span>
          <input type="file" name="file" required />
        </label>
        <Choice
          name="replace"
          label="Profiles that the file does not name"
          options={['', 'true']}
          texts={{ '': 'stay', true: 'are dropped' }}
        />
        <Options />
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            Import
          </button>
        </div>
      </form>
      {dialog}
      {sending !== null && <Progress sending={sending} onStop={() => stop.current?.abort()} />}
      {imported !== null && <Result imported={imported} />}
    </section>
  );
};

/** The profiles of the search: how many there are, their import, and people to forget. */
export const Profiles = () => {
  const { session } = useConsole();
  const [turn, setTurn] = useState(0);
  const loaded = useLoad<{ stats: object }>('admin/v1/leads/stats', { version: turn });
  return (
    <>
      <Title>Profiles of the search</Title>
      <Shown loaded={loaded}>{({ stats }) => <Facts facts={Object.entries(stats).map(toFact)} />}</Shown>
      {session.operator === 'write' && (
        <>
          <p class="row">
            <Link path="operator/changes/forget_people">Forget people for good</Link>
            <Link path="operator/changes/restore_people">Let forgotten people be imported again</Link>
          </p>
          <Import onDone={() => setTurn((last) => last + 1)} />
        </>
      )}
    </>
  );
};
