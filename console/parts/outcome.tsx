import type { Refusal } from '../answers.ts';
import { money } from '../format.ts';
import { useConsole, useLoad } from '../use-console.ts';
import { Problem } from './parts.tsx';

export interface JobAnswer {
  id: string;
  status: string;
  model: string;
  created_at: string;
  finished_at: string | null;
  data: { url: string }[];
  error: Refusal | null;
  usage: { cost_usd?: string };
  response?: unknown;
}

/** Text that models wrote is shown as it is, never as markup. */
const textOf = (response: unknown): string | null => {
  if (typeof response !== 'object' || response === null) return null;
  const { output_text: text, choices } = response as {
    output_text?: unknown;
    choices?: { message?: { content?: unknown } }[];
  };
  const found = text ?? choices?.[0]?.message?.content;
  return typeof found === 'string' ? found : null;
};

/** The address of a result or a film on the page's own origin, which its policy allows. */
const ownAddress = (url: string, base: string): string => {
  const path = URL.parse(url)?.pathname ?? '';
  return base + path.slice(Math.max(0, path.search(/\/(?:results|films)\//)));
};

export const Pictures = ({ urls }: { urls: readonly string[] }) => {
  const { base } = useConsole();
  return (
    <ul class="pictures">
      {urls.map((url, index) => (
        <li key={url}>
          <a href={ownAddress(url, base)}>
            <img src={ownAddress(url, base)} alt={`Result ${index + 1}`} width={320} height={320} />
          </a>
        </li>
      ))}
    </ul>
  );
};

export const hasEnded = ({ status }: { status: string }): boolean => status === 'done' || status === 'failed';

/** What an answer says of its end. */
type End = Pick<JobAnswer, 'error' | 'usage'>;

/** Says what was charged, as far as it is known. */
export const costText = (end: End | null): string => {
  const cost = end?.usage.cost_usd;
  return end?.error && Number(cost) === 0 ? 'Nothing was charged.' : `Cost: ${money(cost)}.`;
};

interface Video extends End {
  status: string;
  progress: number;
  film_url: string | null;
}

const isMade = ({ status }: Video): boolean => status === 'completed' || status === 'failed';

/** Follows a video job to its film; the gateway has none for another job. */
export const Film = ({ id }: { id: string }) => {
  const { base } = useConsole();
  const { data } = useLoad<Video>(`v1/videos/${id}`, { everyMs: 2_000, isLast: isMade });
  if (data === null) return null;
  return (
    <section>
      <h2>Video</h2>
      <p role="status">{isMade(data) ? costText(data) : `${data.progress} % is made.`}</p>
      <Problem text={data.error && data.error.message} />
      {/* Captions are not part of what a model makes. */}
      {data.film_url !== null && <video controls preload="metadata" src={ownAddress(data.film_url, base)} />}
    </section>
  );
};

/** What a job gave, as far as it is kept. */
export const Outcome = ({ job }: { job: JobAnswer }) => {
  const text = textOf(job.response);
  const mayBeVideo = job.status === 'done' && job.data.length === 0 && job.response === undefined;
  return (
    <>
      {text !== null && (
        <section>
          <h2>Answer</h2>
          <pre class="answer" tabIndex={0}>
            {text}
          </pre>
        </section>
      )}
      {job.data.length > 0 && (
        <section>
          <h2>Images</h2>
          <Pictures urls={job.data.map(({ url }) => url)} />
        </section>
      )}
      {mayBeVideo && <Film id={job.id} />}
      <details>
        <summary>The whole answer as JSON</summary>
        <pre tabIndex={0}>{JSON.stringify(job, null, 2)}</pre>
      </details>
    </>
  );
};
