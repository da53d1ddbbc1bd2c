// Writes the page into the package: one HTML file with the styles and the compiled script. With --check, only compares.

import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here("../python/forerun/_profile/page.html");

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    target: "es2022",
    format: "iife",
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  return outputFiles[0].text.trim();
}

const [html, style, script] = await Promise.all([
  readFile(here("src/page.html"), "utf8"),
  bundle("src/page.css"),
  bundle("src/main.ts"),
]);
if (script.includes("</script")) throw new Error("the script contains its own end tag");
const made = html.replace("/*style*/", () => style).replace("/*script*/", () => script);

if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8").catch(() => "")) !== made) {
    console.error("out of date, run `npm run build` in page/: python/forerun/_profile/page.html");
    process.exit(1);
  }
} else {
  await writeFile(target, made);
  console.log(`python/forerun/_profile/page.html: ${made.length} bytes`);
}
